# src/client/url_shown.c: the password of a URL is shown in messages
# caught by: unit/client/url_shown
/^static void hide_password/,/^}/ s/memmove(colon, at, strlen(at) + 1);/(void)at;/
