FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends git make && rm -rf /var/lib/apt/lists/*
WORKDIR /clone
COPY . .
RUN make setup PYTHON=python3
CMD ["make", "figures"]
