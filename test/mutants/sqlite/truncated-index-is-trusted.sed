# src/store/sqlite/db/index.c: an index whose file was truncated is used all the same, without the pages that are missing
# caught by: sqlite/truncated_shm
/^static bool read_index/,/^}/ s/if (page\[i\] == 0)/if (header[FRAMES] == 0)/
