module evenkeel.example/failover

go 1.24
