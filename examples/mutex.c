/* mutex.c - four processes count in one file, and no step is lost.
 *
 *     cc -o mutex mutex.c $(pkg-config --cflags --libs holdfast)
 *     ./mutex [STORE-URL]
 *
 * prints
 *
 *     4 processes took 25 steps each: 100
 */
#include <holdfast.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, STEPS = 25 };

/* Read the number and write the next one: between the two nobody else may. */
static int count_up(FILE *file)
{
    int number = 0;

    rewind(file);
    if (fscanf(file, "%d", &number) != 1)
        number = 0; /* nobody has written yet */
    rewind(file);
    return fprintf(file, "%d\n", number + 1) > 0 ? number + 1 : -1;
}

/* A process opens its own client: one that was opened before fork() is the parent's. */
static int work(const char *url, FILE *file)
{
    struct hf_client *client;
    struct hf_lock   *lock;
    int               r = hf_open(url, NULL, &client);
    if (r != 0) {
        fprintf(stderr, "mutex: %s\n", hf_strerror(r));
        return 1;
    }
    r = hf_mutex(client, "counter", &lock);
    for (int i = 0; i < STEPS && r == 0; i++) {
        r = hf_acquire(lock, 30000); /* wait half a minute at most */
        if (r == 0 && count_up(file) < 0)
            perror("mutex");
        if (r == 0)
            r = hf_release(lock); /* 0 only if it was ours to the end */
    }
    if (r != 0)
        fprintf(stderr, "mutex: %s\n", hf_errmsg(client));
    hf_close(client); /* frees its locks, too */
    return r != 0;
}

int main(int argc, char **argv)
{
    FILE *file = tmpfile();
    int   failed = 0, status;

    if (file == NULL || setvbuf(file, NULL, _IONBF, 0) != 0)
        return 1;
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) /* if it fails, the sum will tell */
            _exit(work(argv[argc > 1 ? 1 : argc], file)); /* argv[argc] is NULL */
    while (wait(&status) > 0)
        failed |= status;
    int sum = count_up(file) - 1;
    printf("%d processes took %d steps each: %d\n", PROCESSES, STEPS, sum);
    return failed != 0 || sum != PROCESSES * STEPS;
}
