// A message of more bytes than an int counts, from one process to the next: it
// arrives whole, and its size is told. argv[1] names the transport.
#include <stdio.h>
#include <stdlib.h>

#include "tests/check.h"
#include "transport/transport.h"

enum {
    TAG = 5,
    GIBIBYTES = 9 // of free memory that two buffers and copies take
};

static const uint64_t size = (UINT64_C(1) << 31) + 8 * 12345 + 3;

static uint64_t word_at(uint64_t i)
{
    return i * UINT64_C(0x9e3779b97f4a7c15);
}

static unsigned char *make_buffer(bool filled)
{
    uint64_t *words = malloc(size + 8);

    CHECK(words);
    for (uint64_t i = 0; i < size / 8 + 1; i++)
        words[i] = filled ? word_at(i) : 0;
    return (unsigned char *)words;
}

static void check_buffer(const unsigned char *bytes)
{
    for (uint64_t i = 0; i < size / 8; i++)
        CHECK(((const uint64_t *)(const void *)bytes)[i] == word_at(i));
    const uint64_t last = word_at(size / 8);
    CHECK(memcmp(bytes + size / 8 * 8, &last, size % 8) == 0);
    CHECK(bytes[size] == 0); // nothing behind it
}

// MemAvailable of /proc/meminfo; 0: not told [GiB].
static unsigned long free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long kib = 0;
    char line[256];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib >> 20;
}

// Process 0 knows whether both have room.
static bool agree(const struct hdi_transport *t, struct hdi_net *net)
{
    struct hdi_transfer *transfer;
    bool enough = free_memory() >= GIBIBYTES;

    if (net->node == 0)
        CHECK(t->send(net, 1, TAG, &enough, 1, &transfer) == HD_OK);
    else
        CHECK(t->receive(net, 0, TAG, &enough, 1, &transfer) == HD_OK);
    CHECK(t->wait(net, transfer, NULL) == HD_OK);
    return enough;
}

int main(int argc, char **argv)
{
    size_t count;
    const struct hdi_transport *const *all = hdi_transports(&count);
    const struct hdi_transport *t = NULL;
    struct hdi_transfer *transfer;
    struct hdi_message message;
    struct hd_error error;
    struct hdi_net *net;

    CHECK(argc == 2);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i]->name, argv[1]) == 0)
            t = all[i];
    CHECK(t);
    hd_status status = t->open(&net, &error);
    if (status == HD_ENODEV)
        SKIP("the program was not started with this network");
    CHECK(status == HD_OK && net->count == 2);
    t = net->transport;
    if (!agree(t, net)) {
        CHECK(t->barrier(net) == HD_OK);
        t->close(net);
        SKIP("less than 9 GiB of memory are free");
    }

    unsigned char *bytes = make_buffer(net->node == 0);
    if (net->node == 0) {
        CHECK(t->send(net, 1, TAG, bytes, size, &transfer) == HD_OK);
        CHECK(t->wait(net, transfer, NULL) == HD_OK);
    } else {
        CHECK(t->receive(net, 0, TAG, bytes, size, &transfer) == HD_OK);
        CHECK(t->wait(net, transfer, &message) == HD_OK);
        CHECK(message.size == size && message.node == 0);
        check_buffer(bytes);
    }
    CHECK(t->barrier(net) == HD_OK);
    free(bytes);
    t->close(net);
    return 0;
}
