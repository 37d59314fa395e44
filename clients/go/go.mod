module annals.dev/writer

go 1.23
