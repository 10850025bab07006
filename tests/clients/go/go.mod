module evenkeel.example/client

go 1.24
