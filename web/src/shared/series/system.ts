/** Series of nodes: `system/cpu-3/gpu-0/busy` is what the node cpu-3 measures of its first GPU. */

export interface SystemSeries {
  name: string;
  host: string;
  device: string; // "gpu-0"; empty for the node itself
  metric: string; // "busy", "cpu", "memory_bytes"
}

const SYSTEM = /^system\/([^/]+)\/(?:(gpu-\d+)\/)?([^/]+)$/;

/** Return the parts of the name of a node's series; null for any other series. */
export function systemOf(name: string): SystemSeries | null {
  const [, host, device = "", metric] = SYSTEM.exec(name) ?? [];
  return host !== undefined && metric !== undefined ? { name, host, device, metric } : null;
}
