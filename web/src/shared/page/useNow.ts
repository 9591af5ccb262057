/** The service's current time, updated at an interval, for ages and running clocks. */
import { useEffect, useState } from "react";
import { onClockChange, serviceNow } from "@/shared/api/clock";

export function useNow(every_ms = 1000): number {
  const [now, setNow] = useState(serviceNow);
  useEffect(() => {
    const update = () => {
      setNow(serviceNow());
    };
    const timer = setInterval(update, every_ms);
    const forget = onClockChange(update);
    return () => {
      clearInterval(timer);
      forget();
    };
  }, [every_ms]);
  return now;
}
