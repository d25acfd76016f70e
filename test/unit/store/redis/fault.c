/* fault.c - the meaning of errors of a Redis server. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/redis/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static enum hf_served_fault fault(const char *text, char *words)
{
    char       copy[512];
    redisReply reply = { .type = REDIS_REPLY_ERROR, .str = copy };

    reply.len = (size_t)snprintf(copy, sizeof copy, "%s", text);
    return hf_redis_fault_text(&reply, words, HF_ERRMSG_MAX);
}

static const struct {
    const char          *text;
    enum hf_served_fault fault;
    const char          *says;
} faults[] = {
    { "NOSCRIPT No matching script. Please use EVAL.", HF_SERVED_MISSING, "script" },
    { "LOADING Redis is loading the dataset in memory", HF_SERVED_DOWN, "loading" },
    { "BUSY Redis is busy running a script.", HF_SERVED_DOWN, "script" },
    { "MASTERDOWN Link with MASTER is down", HF_SERVED_DOWN, "lost its master" },
    { "READONLY You can't write against a read only replica.", HF_SERVED_DOWN,
      "read-only" },
    { "NOREPLICAS Not enough good replicas to write.", HF_SERVED_DOWN,
      "min-replicas-to-write" },
    { "CLUSTERDOWN Hash slot not served", HF_SERVED_DOWN, "cluster is down" },
    { "TRYAGAIN Multiple keys request during rehashing", HF_SERVED_DOWN, "moving" },
    { "ASK 8121 127.0.0.1:6381", HF_SERVED_DOWN, "has moved" },
    { "MOVED 8121 127.0.0.1:6381", HF_SERVED_DOWN, "another server" },
    { "UNBLOCKED force unblock from blocking operation", HF_SERVED_DOWN, "replica" },
    { "ERR max number of clients reached", HF_SERVED_DOWN, "maxclients" },
    { "NOAUTH Authentication required.", HF_SERVED_DENIED, "?auth=FILE" },
    { "WRONGPASS invalid username-password pair", HF_SERVED_DENIED, "rejects" },
    { "ERR AUTH <password> called without any password configured", HF_SERVED_DENIED,
      "no password set" },
    { "DENIED Redis is running in protected mode", HF_SERVED_DENIED, "protected" },
    { "NOPERM this user has no permissions to run the 'info' command", HF_SERVED_DENIED,
      "'info'" },
    { "ERR ACL failure in script: User x has no permissions to run the 'hset' "
      "command script: 9f, on @user_script:1.",
      HF_SERVED_DENIED, "'hset'" },
    { "OOM command not allowed when used memory > 'maxmemory'.", HF_SERVED_FAILED,
      "maxmemory" },
    { "MISCONF Redis is configured to save RDB snapshots", HF_SERVED_FAILED, "log" },
    { "WRONGTYPE Operation against a key holding the wrong kind of value script: 9f, "
      "on @user_script:1.",
      HF_SERVED_FAILED, "prefix" },
    { "ERR unknown command 'EVALSHA'", HF_SERVED_FAILED, "'EVALSHA'" },
    { "", HF_SERVED_FAILED, "says" },
    { "ERR two\r\nlines", HF_SERVED_FAILED, "two" },
    /* wording before version 7 */
    { "ERR Error running script (call to f_9f): @user_script:1: @user_script: 1: -OOM "
      "command not allowed when used memory > 'maxmemory'.",
      HF_SERVED_FAILED, "has no memory left" },
    { "ERR Error running script (call to f_9f): @user_script:12: WRONGTYPE Operation "
      "against a key",
      HF_SERVED_FAILED, "prefix" },
    { "ERR Error running script (call to f_9f): @user_script:1: @user_script: 1: "
      "-READONLY You can't write against a read only replica.",
      HF_SERVED_DOWN, "read-only" },
    { "ERR Error running script (call to f_9f): @user_script:1: @user_script: 1: The "
      "user executing the script can't run this command or subcommand",
      HF_SERVED_DENIED, "does not allow our scripts all that they need" },
    { "ERR Error running script", HF_SERVED_FAILED, "running script" },
};

static void test_meaning_and_message_of_each_redis_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        char words[HF_ERRMSG_MAX] = "";
        if (fault(faults[i].text, words) != faults[i].fault ||
            strstr(words, faults[i].says) == NULL || strpbrk(words, "\r\n") != NULL)
            fail_msg("%s: %s", faults[i].text, words);
    }
}

static void test_answers_that_are_no_errors(void **state)
{
    const redisReply good = { .type = REDIS_REPLY_STATUS, .str = (char[]){ "NOAUTH" } };
    char             words[HF_ERRMSG_MAX] = "as before";

    (void)state;
    assert_int_equal(hf_redis_fault_text(NULL, words, sizeof words), HF_SERVED_FINE);
    assert_int_equal(hf_redis_fault_text(&good, words, sizeof words), HF_SERVED_FINE);
    assert_string_equal(words, "as before");
}

static void test_redirections_of_a_cluster(void **state)
{
    static const char *const cases[][3] = {
        { "MOVED 8121 10.0.0.1:6381", "10.0.0.1", "6381" },
        { "MOVED 8121 ::1:6381", "::1", "6381" },
        { "MOVED 8121 redis-1.example:6381", "redis-1.example", "6381" },
        { "MOVED 8121 :6381", "here", "6381" },
        { "MOVED 8121 10.0.0.1:0", "", "" },
        { "MOVED 8121 10.0.0.1:65536", "", "" },
        { "MOVED 8121 10.0.0.1", "", "" },
        { "MOVED a:1 b", "", "" },
        { "MOVED ", "", "" },
        { "ASK 8121 10.0.0.1:6381", "10.0.0.1", "6381" },
        { "ASKED 8121 10.0.0.1:6381", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct hf_redis *redis = calloc(1, sizeof *redis);
        char             text[64];
        redisReply       reply = { .type = REDIS_REPLY_ERROR, .str = text };
        assert_non_null(redis);
        redis->remote.dial = &redis->link.conn.dial;
        hf_redis_link_init(redis, 1);
        redis->remote.dial->here = (struct hf_server){ "here", "1" };
        snprintf(text, sizeof text, "%s", cases[i][0]);
        assert_int_equal(hf_redis_fault(redis, &reply), HF_SERVED_DOWN);
        assert_string_equal(redis->link.moved.host, cases[i][1]);
        assert_string_equal(redis->link.moved.port, cases[i][2]);
        assert_non_null(strstr(redis->served.base.errmsg, "Redis at here:1 "));
        free(redis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning_and_message_of_each_redis_error),
        cmocka_unit_test(test_answers_that_are_no_errors),
        cmocka_unit_test(test_redirections_of_a_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
