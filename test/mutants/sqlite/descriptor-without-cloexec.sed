# src/store/sqlite/files/files.c: the descriptor that keeps places alive is inherited by programs
# caught by: recipe/inherited on sqlite
/^static int open_file/,/^}/ s/O_NOFOLLOW | O_CLOEXEC |/O_NOFOLLOW |/
