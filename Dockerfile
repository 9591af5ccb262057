# One image for the service and for the nodes of the small Slurm: same code, same Python, same user, same paths.
#
#   docker compose build                                      from the default package index
#   PIP_EXTRA_INDEX_URL=... docker compose build              another index as well: torch's CPU builds, a mirror
#   cp *.whl docker/wheels/ && docker compose build           wheels at hand are taken first
#
# These arguments stay in stages that are thrown away: no index and no password of one is in the image.

FROM node:20-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0 AS web
WORKDIR /web
COPY web/package.json web/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY web ./
RUN npm run build


FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241 AS packages
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv
RUN python3 -m venv /opt/bigbatch
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY constraints.txt requirements/service.txt ./
# every package but torch has a hash (docs/decisions/0027-pins-with-hashes.md)
RUN --mount=type=cache,target=/root/.cache/pip --mount=type=bind,source=docker/wheels,target=/wheels \
    /opt/bigbatch/bin/pip install --require-hashes --no-deps -r service.txt \
    && /opt/bigbatch/bin/pip install --find-links /wheels -c constraints.txt torch


FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241
# Slurm's clients for the worker; its daemons, 2 MB more, serve the profile "slurm". A munge key is never in an image.
RUN apt-get update \
    && apt-get install -y --no-install-recommends munge python3 slurm-client slurmctld slurmd \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /etc/munge/munge.key \
    # its library is not installed, and every daemon would complain
    && find /usr/lib -name 'mpi_pmix*' -delete
# a volume that is mounted here for the first time takes its owner from these folders
RUN useradd --uid 1000 --create-home bigbatch \
    && mkdir -p /runs /snapshots /run/munge /var/lib/munge /var/lib/slurm /var/spool/slurmd \
    && chown bigbatch: /runs /snapshots /run/munge /var/lib/munge /var/lib/slurm /var/spool/slurmd \
    && chmod 755 /run/munge
COPY docker/slurm/ /etc/slurm/
COPY --from=packages /opt/bigbatch /opt/bigbatch
ENV PATH=/opt/bigbatch/bin:$PATH PYTHONUNBUFFERED=1 BIGBATCH_RUNS=/runs
# our own code last and by itself: a new version adds a layer of a few hundred kB, not another gigabyte
RUN --mount=type=bind,target=/source,rw \
    touch /source/README.md && pip install --no-deps --no-build-isolation --no-cache-dir --force-reinstall /source
# the API looks for the dashboard beside its own package
COPY --from=web /web/dist /opt/bigbatch/lib/python3.11/site-packages/web/dist
COPY docker/awake.py docker/healthy.py /opt/bigbatch/docker/
USER bigbatch
WORKDIR /home/bigbatch
EXPOSE 8000
CMD ["python", "-m", "api", "--host", "0.0.0.0"]
