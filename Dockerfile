FROM python:3.12-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
ENV PATH=/srv/losslake/bin:$PATH
RUN python -m venv /srv/losslake

# Before the sources: a change of ours keeps this layer.
WORKDIR /src
COPY requirements.lock ./
RUN pip install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md ./
COPY docs docs/
COPY bench/RESULTS.md bench/
COPY studies/README.md studies/
COPY published published/
COPY losslake losslake/
COPY schema schema/
COPY ingest ingest/
COPY service service/
COPY contributions contributions/
COPY cli cli/
RUN pip install --no-deps --no-build-isolation .


FROM python:3.12-slim

ENV PATH=/srv/losslake/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 LOSSLAKE_LAKE=/lake LOSSLAKE_CACHE=/cache
COPY --from=build /srv/losslake /srv/losslake

# The folders belong to the user before they become volumes: a new named volume takes its owner from here.
RUN useradd --system --uid 10001 --home-dir /lake --no-create-home --shell /usr/sbin/nologin losslake \
    && install --directory --owner=losslake --group=losslake /lake /cache /secrets
USER losslake
WORKDIR /lake
# A container is reached by names of its host machine; LOSSLAKE_PUBLIC_URL adds that of a public service.
ENV LOSSLAKE_ALLOWED_HOSTS=localhost:*,127.0.0.1:*,[::1]:*
VOLUME /lake /cache

EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4).close()"]

ENTRYPOINT ["losslake"]
CMD ["serve", "--host", "0.0.0.0"]
