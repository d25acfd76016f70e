# src/store/served/place.c: a message grants a lock without the grant secret: anybody can forge it
# caught by: unit/store/served/watch
/^static void on_granted/,/^}/ s/secret != place->grant_secret/secret == 1/
