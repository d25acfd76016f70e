# src/drive/loop.c: while the keeper runs a callback, a thread that settles every wish in one turn reads no wake-up
# caught by: recipe/driving on sqlite
/^void hf_drive_turn_first/,/^}/ s/!drive->parked || hf_now() >= drive->wake/hf_now() >= drive->wake/
