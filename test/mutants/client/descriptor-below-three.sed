# src/base/fork.c: a descriptor of ours becomes the stdout of a program that has closed it
# caught by: unit/base/fork
/^static void take_low/,/^}/ s/fd <= 2/fd < 0/
