#include "sim/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "dispatch/policies/policy.h"

const char sim_policy_help[] =
    "Simulate the dispatch of work-groups to modules, or make a workload of a\n"
    "recording. A machine may also be named in the workload file.\n\n"
    "A policy is a name, and options after commas: name,option=N.\n"
    "\nOptions of policies:\n"
    "  order=priority|robin|sticky   place=score|next   pointer=head|tail\n"
    "  left=N recent=N tight=N       parts of the module's score\n"
    "  byrun=0|1     'left' counts longest runs instead of blocks\n"
    "  marks=0|1     marked random turns among equals, or plain turns\n"
    "  windows=A:B:..  rotating windows [cycles]; windows=0: none\n"
    "  runs=N lead=N   windows from the median run time: the shortest N/16 of\n"
    "                it, the first `lead` times its proportion\n"
    "  split=N pieces=N  split after N failing rounds (0: never), waves of "
    "one\n"
    "  urgent=N      priorities from rank N on are equals; 0: none\n"
    "  large=N brief=N  among equals: weight of size, of short run times\n"
    "  hold=N        modules kept for each urgent head that fits nowhere\n"
    "  backfill=0|1  groups that should end in time may go there\n"
    "  patience=N    the oldest first after N cycles; 0: never\n";

void sim_policy_list(FILE *file)
{
    size_t count;
    const struct hdi_policy_kind *const *kinds = hdi_policies(&count);

    fprintf(file, "\nPolicies:\n");
    for (size_t i = 0; i < count; i++) {
        const char *line = kinds[i]->about, *end = strchr(line, '\n');
        fprintf(file, "  %-9s ", kinds[i]->name);
        for (; end; line = end + 1, end = strchr(line, '\n'))
            fprintf(file, "%.*s\n            ", (int)(end - line), line);
        fprintf(file, "%s\n", line);
    }
}

static hd_status parse_name(const char *name, struct hdi_policy *policy,
                            struct hd_error *error)
{
    struct hdi_text names = {0};
    size_t count;
    const struct hdi_policy_kind *const *kinds = hdi_policies(&count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(kinds[i]->name, name) == 0) {
            *policy = kinds[i]->make();
            hdi_text_free(&names);
            return HD_OK;
        }
        hdi_text_print(&names, "%s%s",
                       i == 0           ? ""
                       : i + 1 == count ? " and "
                                        : ", ",
                       kinds[i]->name);
    }
    hd_status status =
        hdi_fail(error, HD_EINVAL, "no policy '%s': %s are known", name,
                 names.data ? names.data : "others");
    hdi_text_free(&names);
    return status;
}

static bool parse_word(struct hdi_policy *p, const char *key, const char *value)
{
    if (strcmp(key, "order") == 0) {
        if (strcmp(value, "priority") == 0)
            p->order = HDI_ORDER_PRIORITY;
        else if (strcmp(value, "robin") == 0)
            p->order = HDI_ORDER_ROBIN;
        else if (strcmp(value, "sticky") == 0)
            p->order = HDI_ORDER_STICKY;
        else
            return false;
        return true;
    }
    if (strcmp(key, "place") == 0) {
        p->place =
            strcmp(value, "next") == 0 ? HDI_PLACE_NEXT : HDI_PLACE_SCORE;
        return strcmp(value, "next") == 0 || strcmp(value, "score") == 0;
    }
    if (strcmp(key, "pointer") == 0) {
        p->pointer =
            strcmp(value, "tail") == 0 ? HDI_POINTER_TAIL : HDI_POINTER_HEAD;
        return strcmp(value, "tail") == 0 || strcmp(value, "head") == 0;
    }
    return false;
}

static bool parse_number(struct hdi_policy *p, const char *key, int64_t n)
{
    bool small = n >= 0 && n <= INT32_MAX / 2;

    if (strcmp(key, "patience") == 0 && n >= 0)
        p->patience = (uint64_t)n;
    else if (strcmp(key, "large") == 0 && n >= -1000000 && n <= 1000000)
        p->large = (int32_t)n;
    else if (strcmp(key, "brief") == 0 && n >= -1000000 && n <= 1000000)
        p->brief = (int32_t)n;
    else if (!small)
        return false;
    else if (strcmp(key, "left") == 0)
        p->mixture.left = (int32_t)n;
    else if (strcmp(key, "recent") == 0)
        p->mixture.recent = (int32_t)n;
    else if (strcmp(key, "tight") == 0)
        p->mixture.tight = (int32_t)n;
    else if (strcmp(key, "byrun") == 0)
        p->mixture.by_run = n != 0;
    else if (strcmp(key, "marks") == 0)
        p->marks = n != 0;
    else if (strcmp(key, "runs") == 0 && n <= 65536)
        p->window_runs = (unsigned)n;
    else if (strcmp(key, "lead") == 0 && n >= 1 && n <= 65536)
        p->window_lead = (unsigned)n;
    else if (strcmp(key, "split") == 0)
        p->split_after = (uint32_t)n;
    else if (strcmp(key, "pieces") == 0 && n >= 1 && n <= UINT16_MAX)
        p->split_waves = (uint16_t)n;
    else if (strcmp(key, "urgent") == 0 && n <= HDI_MAX_PRIORITIES)
        p->urgent = (unsigned)n;
    else if (strcmp(key, "backfill") == 0)
        p->backfill = n != 0;
    else if (strcmp(key, "hold") == 0 && n <= HDI_MAX_MODULES)
        p->hold = (uint32_t)n;
    else
        return false;
    return true;
}

// "A:B:C", or 0 for none.
static hd_status parse_windows(struct hdi_policy *policy, const char *value,
                               struct hd_error *error)
{
    uint64_t length[HDI_MAX_PRIORITIES];
    unsigned count = 0;

    policy->window_runs = 0;
    policy->windows = (struct hdi_windows){0};
    if (strcmp(value, "0") == 0)
        return HD_OK;
    for (const char *at = value;;) {
        char *end;
        if (count == HDI_MAX_PRIORITIES)
            return hdi_fail(error, HD_EINVAL, "more than %d windows",
                            HDI_MAX_PRIORITIES);
        length[count++] = strtoull(at, &end, 10);
        if (end == at || (*end != ':' && *end != '\0'))
            return hdi_fail(error, HD_EINVAL,
                            "windows=%s: not numbers between colons", value);
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return hdi_windows_init(&policy->windows, count, length, error);
}

hd_status sim_policy_parse(const char *text, struct hdi_policy *policy,
                           struct hd_error *error)
{
    char copy[512], *save = NULL;
    struct hdi_policy p;

    if (strlen(text) >= sizeof(copy))
        return hdi_fail(error, HD_EINVAL, "a policy of more than %zu letters",
                        sizeof(copy) - 1);
    memcpy(copy, text, strlen(text) + 1);
    char *word = strtok_r(copy, ",", &save);
    HDI_TRY(parse_name(word ? word : "", &p, error));
    while ((word = strtok_r(NULL, ",", &save))) {
        char *value = strchr(word, '='), *end;
        if (!value)
            return hdi_fail(error, HD_EINVAL, "policy option '%s' has no value",
                            word);
        *value++ = '\0';
        if (strcmp(word, "windows") == 0) {
            HDI_TRY(parse_windows(&p, value, error));
            continue;
        }
        int64_t number = strtoll(value, &end, 10);
        bool is_number = end != value && *end == '\0';
        if (!(is_number && parse_number(&p, word, number)) &&
            !parse_word(&p, word, value))
            return hdi_fail(error, HD_EINVAL,
                            "policy option %s=%s: unknown, or not a value it "
                            "can have",
                            word, value);
    }
    *policy = p;
    return HD_OK;
}
