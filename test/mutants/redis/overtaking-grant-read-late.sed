# src/store/served/place.c: so does one that is read only after the places were reclaimed
# caught by: unit/store/served/watch
/^void hf_served_forget_overtaking/,/^}/ s/at->grant_secret = draw_secret(served);//
