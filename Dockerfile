# Images of the command line, on a CPU:
#   docker build --target base -t wordbias .        without torch
#   docker build --target all -t wordbias:all .     with every extra, and torch without CUDA
#   docker run --rm --user "$(id -u)" -v "$PWD:/work" wordbias misp glove.txt -o clean.txt
FROM python:3.13-slim AS wheel
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheel

FROM python:3.13-slim AS base
COPY --from=wheel /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl \
    && useradd --create-home --uid 1000 wordbias \
    && mkdir --mode 1777 /var/cache/wordbias /var/lib/wordbias
# writable for whichever user the container is started
ENV WORDBIAS_CACHE=/var/cache/wordbias WORDBIAS_DATA=/var/lib/wordbias
USER wordbias
WORKDIR /work
ENTRYPOINT ["wordbias"]
CMD ["--help"]

FROM base AS all
USER root
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
        "$(ls /wheel/*.whl)[all]"
USER wordbias
