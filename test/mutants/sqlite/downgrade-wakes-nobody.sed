# src/store/sqlite/downgrade.c: a downgrade lets no reader in
# caught by: recipe/rwlock on sqlite
/^static int change_weight/,/^}/ s/return r < 0 ? r : hf_sq_fill_room(.*/return r < 0 ? r : hf_sq_total_close(sq, own->line);/
