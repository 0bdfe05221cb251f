// A policy that is registered is there: it has a name, can be given options, is
// listed and known in messages, and decides what goes first.
#include "sim/policy.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch/policies/policy.h"
#include "tests/check.h"

static struct hd_error error;

const struct hdi_policy_kind *const *__real_hdi_policies(size_t *count);
const struct hdi_policy_kind *const *__wrap_hdi_policies(size_t *count);

// The highest tag first.
static int64_t prefer(const struct hdi_head *head)
{
    return (int64_t)head->packet->tag;
}

static struct hdi_policy make(void)
{
    struct hdi_policy policy = hdi_policy_bare();

    policy.prefer = prefer;
    return policy;
}

// Registered as the build does it, behind the others.
const struct hdi_policy_kind *const *__wrap_hdi_policies(size_t *count)
{
    static const struct hdi_policy_kind toy = {
        .name = "toy", .about = "the highest tag\nfirst", .make = make};
    static const struct hdi_policy_kind *all[32];
    const struct hdi_policy_kind *const *real = __real_hdi_policies(count);

    CHECK(*count < 32);
    memcpy(all, real, *count * sizeof(*real));
    all[(*count)++] = &toy;
    return all;
}

// The channels of equal groups in the order in which they are sent.
static void send_all(const char *name, uint32_t *channels)
{
    struct hdi_shape shape = {.modules = 1,
                              .units = 1,
                              .waves = 4,
                              .resource_count = 1,
                              .resources = {{.name = "slots", .blocks = 4}}};
    struct hdi_dispatcher_options options = {
        .channels = 4, .packets = 4, .seed = 1};
    struct hdi_dispatcher *d;
    struct hdi_decision decision;

    CHECK_OK(hdi_shape_init(&shape, &error), error);
    CHECK_OK(sim_policy_parse(name, &options.policy, &error), error);
    CHECK_OK(hdi_dispatcher_create(&shape, &options, &d, &error), error);
    for (uint32_t c = 0; c < 4; c++) {
        struct hdi_packet packet = {
            .need = {.waves = 1, .priority = 1, .amount = {1}},
            .groups = 1,
            .tag = (c * 7 + 3) % 4 * 100}; // of channels 0 to 3: 3, 2, 1, 0
        CHECK_OK(hdi_dispatcher_submit(d, c ^ 1, &packet, 0, &error), error);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK(hdi_dispatcher_round(d, 0, &decision) == HDI_ROUND_SENT);
        channels[i] = decision.channel;
    }
    hdi_dispatcher_destroy(d);
}

static void it_decides(void)
{
    static const uint32_t by_tag[] = {1, 0, 3, 2};
    uint32_t channels[4];

    send_all("toy", channels);
    CHECK(memcmp(channels, by_tag, sizeof(by_tag)) == 0);
    send_all("strict", channels);
    CHECK(memcmp(channels, by_tag, sizeof(by_tag)) != 0);
}

static void it_has_options(void)
{
    struct hdi_policy policy;

    CHECK_OK(sim_policy_parse("toy,split=9", &policy, &error), error);
    CHECK(policy.prefer == prefer && policy.split_after == 9);
    CHECK_FAILS(sim_policy_parse("tou", &policy, &error), HD_EINVAL, error,
                "strict and toy are known");
}

static void it_is_listed(void)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    CHECK(file);
    sim_policy_list(file);
    fclose(file);
    CHECK(strstr(text, "\n  toy       the highest tag\n            first\n"));
    CHECK(strstr(text, "\n  strict    "));
    free(text);
}

int main(void)
{
    it_decides();
    it_has_options();
    it_is_listed();
    return 0;
}
