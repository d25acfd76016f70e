# src/client/client.c: a forked child may use the client of its parent
# caught by: recipe/driving on sqlite
/^int hf_client_check(/,/^}/ s/? 0 : HF_EFORK/? 0 : 0/
