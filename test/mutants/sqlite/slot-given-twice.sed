# src/store/sqlite/line/grant.c: two holders of a semaphore get the same slot
# caught by: recipe/kinds on sqlite
/^int hf_sq_free_slot/,/^}/ s/taken\[sq->rows.row\[i\].slot\] = true;/taken[count] = true;/
