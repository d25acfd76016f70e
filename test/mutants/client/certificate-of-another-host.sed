# src/net/secure.c: the certificate of any host is accepted
# caught by: unit/net/secure
s/return SSL_set1_host(ssl, host) \&\& /return /
