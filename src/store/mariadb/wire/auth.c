/* auth.c - proofs that we know the password, one for each plugin; see wire.h.
 *
 * The algorithms are those that MySQL documents.  OpenSSL computes the hashes: with a
 * password it is loaded anyway, see docs/internals/remote.md. */
#include "net/openssl.h"
#include "store/mariadb/wire/wire.h"

#include <openssl/rsa.h>
#include <string.h>

#define HASH_MAX 32

static bool hash(const EVP_MD *kind, const void *data, size_t size, unsigned char *ret)
{
    bool fine = EVP_Digest(data, size, ret, NULL, kind, NULL) == 1;

    ERR_clear_error();
    return fine;
}

static void mix(unsigned char *with, const unsigned char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        with[i] ^= from[i];
}

/* hash(password) XOR hash(challenge, hash(hash(password))) */
bool hf_my_auth_native(const char *password, const unsigned char challenge[20],
                       unsigned char ret[20])
{
    unsigned char both[HF_MY_SCRAMBLE + 20], once[20], other[20];

    memcpy(both, challenge, HF_MY_SCRAMBLE);
    bool fine = hash(EVP_sha1(), password, strlen(password), once) &&
                hash(EVP_sha1(), once, 20, both + HF_MY_SCRAMBLE) &&
                hash(EVP_sha1(), both, sizeof both, other);
    if (fine) {
        memcpy(ret, once, 20);
        mix(ret, other, 20);
    }
    explicit_bzero(once, sizeof once);
    explicit_bzero(both, sizeof both);
    return fine;
}

/* hash(password) XOR hash(hash(hash(password)), challenge) */
bool hf_my_auth_sha2(const char *password, const unsigned char challenge[20],
                     unsigned char ret[32])
{
    unsigned char both[HASH_MAX + HF_MY_SCRAMBLE], once[HASH_MAX], other[HASH_MAX];

    memcpy(both + HASH_MAX, challenge, HF_MY_SCRAMBLE);
    bool fine = hash(EVP_sha256(), password, strlen(password), once) &&
                hash(EVP_sha256(), once, HASH_MAX, both) &&
                hash(EVP_sha256(), both, sizeof both, other);
    if (fine) {
        memcpy(ret, once, HASH_MAX);
        mix(ret, other, HASH_MAX);
    }
    explicit_bzero(once, sizeof once);
    explicit_bzero(both, sizeof both);
    return fine;
}

static EVP_PKEY *read_key(struct hf_my_text pem)
{
    BIO      *bio = BIO_new_mem_buf(pem.data, (int)pem.size);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL) : NULL;

    BIO_free(bio);
    return key;
}

size_t hf_my_auth_rsa(const char *password, const unsigned char challenge[20],
                      struct hf_my_text pem, unsigned char ret[HF_MY_PROOF_MAX])
{
    unsigned char plain[HF_MY_PROOF_MAX];
    size_t        size = strlen(password) + 1, made = HF_MY_PROOF_MAX, needed = 0;

    if (size > sizeof plain || pem.size > 65536)
        return 0;
    memcpy(plain, password, size);
    for (size_t i = 0; i < size; i++)
        plain[i] ^= challenge[i % HF_MY_SCRAMBLE];

    EVP_PKEY     *key = read_key(pem);
    EVP_PKEY_CTX *context = key != NULL ? EVP_PKEY_CTX_new(key, NULL) : NULL;
    if (context == NULL || EVP_PKEY_encrypt_init(context) <= 0 ||
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) <= 0 ||
        EVP_PKEY_encrypt(context, NULL, &needed, plain, size) <= 0 || needed > made ||
        EVP_PKEY_encrypt(context, ret, &made, plain, size) <= 0)
        made = 0;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    explicit_bzero(plain, sizeof plain);
    return made;
}
