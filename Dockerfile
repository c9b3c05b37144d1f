# One image for the main job and for the server:
#
#   docker build -t tacit .
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" tacit init visits.csv --label ill
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" tacit audit tacit.toml
#   docker run -p 127.0.0.1:8000:8000 -v competition:/data tacit serve --host 0.0.0.0
#
# Models need PyTorch: docker build --build-arg EXTRAS=server,torch -t tacit .

FROM python:3.11-slim AS build
ARG EXTRAS=server
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/tacit
RUN /opt/tacit/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[$EXTRAS]"

FROM python:3.11-slim
COPY --from=build /opt/tacit /opt/tacit
# Any user may work in both, because --user names the owner of the mounted folder.
RUN install -d -m 1777 /data /home/tacit
ENV PATH=/opt/tacit/bin:$PATH HOME=/home/tacit
USER 1000:1000
WORKDIR /data
EXPOSE 8000
ENTRYPOINT ["tacit"]
CMD ["audit"]
