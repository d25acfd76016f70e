module holdfast

go 1.19
