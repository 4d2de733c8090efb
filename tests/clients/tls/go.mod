module carillon.example/tls-listener

go 1.21
