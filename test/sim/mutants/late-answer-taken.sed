# test/lib/sim/store.c: a late answer is taken for the answer to a later request
/^static struct hf_req \*take_flying(/,/^}/ s/if (serial_of(req) == serial)/if (found == NULL \&\& serial_of(req) >= serial)/
