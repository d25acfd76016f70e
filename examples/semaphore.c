/* semaphore.c - eight jobs, of which three may run at a time.
 *
 *     cc -o semaphore semaphore.c -pthread $(pkg-config --cflags --libs holdfast)
 *     ./semaphore [STORE-URL]
 *
 * prints
 *
 *     8 jobs done, never more than 3 at a time
 */
#include <holdfast.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { JOBS = 8, AT_A_TIME = 3 };

static struct hf_client *client; /* threads may share one */
static atomic_int        in_slot[AT_A_TIME], running, done, faults;

/* A slot is a number that no other holder has: of a port, a disk, a folder to work in. */
static void run_in(int slot)
{
    if (atomic_fetch_add(&in_slot[slot], 1) != 0 ||
        atomic_fetch_add(&running, 1) >= AT_A_TIME)
        faults++;
    usleep(10000); /* the work */
    running--;
    in_slot[slot]--;
    done++;
}

static void *job(void *unused)
{
    struct hf_lock *lock;
    int             r = hf_semaphore(client, "disks", AT_A_TIME, 1, &lock);
    if (r != 0) {
        fprintf(stderr, "semaphore: %s\n", hf_strerror(r));
        return unused;
    }
    r = hf_acquire(lock, 30000);
    if (r == 0) {
        run_in(hf_slot(lock));
        r = hf_release(lock); /* HF_ELOST: it was not ours to the end */
    }
    if (r != 0)
        fprintf(stderr, "semaphore: %s\n", hf_errmsg(client));
    hf_lock_free(lock);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[JOBS];
    int       started = 0;
    int       r = hf_open(argc > 1 ? argv[1] : NULL, NULL, &client);
    if (r != 0) {
        fprintf(stderr, "semaphore: %s\n", hf_strerror(r));
        return 1;
    }
    while (started < JOBS && pthread_create(&thread[started], NULL, job, NULL) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    hf_close(client);
    printf("%d jobs done, %s %d at a time\n", done,
           faults ? "but more than" : "never more than", AT_A_TIME);
    return faults != 0 || done != JOBS;
}
