# src/base/home.c: a set-user-ID program takes its store from its caller's environment
# caught by: unit/client/url_setuid
s/secure_getenv/getenv/
