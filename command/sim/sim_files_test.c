// What the simulator reads and writes, and files that are wrong.
#include <unistd.h>

#include "dispatch/policies/policy.h"
#include "sim/csv.h"
#include "sim/policy.h"
#include "sim/run.h"
#include "sim/setup.h"
#include "sim/timeline.h"
#include "tests/folder.h"

struct mistake {
    const char *text, *complaint;
};

static void refuse_machines(const struct mistake *list, size_t count)
{
    struct sim_machine machine;
    struct sim_text text;

    for (size_t i = 0; i < count; i++) {
        CHECK_OK(sim_text_from(&text, "f", list[i].text, strlen(list[i].text),
                               &error),
                 error);
        CHECK_FAILS(sim_machine_read(&machine, &text), HD_EFORMAT, error,
                    list[i].complaint);
        sim_text_close(&text);
    }
}

static void refuse_workloads(const struct sim_machine *machine,
                             const struct mistake *list, size_t count)
{
    struct sim_workload workload;
    struct sim_text text;

    for (size_t i = 0; i < count; i++) {
        CHECK_OK(sim_text_from(&text, "f", list[i].text, strlen(list[i].text),
                               &error),
                 error);
        CHECK_FAILS(sim_workload_read(&workload, machine, &text), HD_EFORMAT,
                    error, list[i].complaint);
        sim_text_close(&text);
    }
}

static void wrong_files_are_told_where(void)
{
    static const struct mistake machines[] = {
        {"modules = 4\nunit = 3\n", "f:2: 'unit' is not known"},
        {"modules = 4\nunit { 3 }\n", "f:2: 'unit' is not known"},
        {"modules = 0\n", "f:1: modules: 0 is not within 1 to"},
        {"modules = 'x'\n", "f:1: modules: 'x' is not a whole number"},
        {"modules = x\n", "f:1: a name that nothing was set to"},
        {"modules = { 4, 5 }\n", "f:1: '5' is one word too many"},
        {"modules = {}\n", "f:1: modules is missing"},
        {"modules = nil\n", "f:1: a nil is no value here"},
        {"modules(4, 5)\n", "f:1: 'modules' takes one value"},
        {"modules = { [0] = 5 }\n", "f:1: a table with a number as a name"},
        {"modules = { { { { { 5 } } } } }\n", "f:1: more than 4 tables"},
        {"modules = 99999999999999999999999\n",
         "f:1: modules: '1e+23' is not a whole number"},
        {"resource { 'a', 8, 'both', 'counted' }\n", "f:1: whose blocks"},
        {"resource { 'a', 8, 'unit', 'contiguous', grouped = 3 }\n"
         "modules = 1\nunits = 1\nwaves = 1\n",
         "groups of 3 do not divide"},
        {"resource { 'a', 8, 'unit', 'contiguous', sampled = { 3, 2 } }\n",
         "f:1: shifts must"},
        {"resource { 'a', 8, 'unit', 'contiguous',\n"
         "           sampled = { above = 0.5 } }\n",
         "f:1: shifts for which 'lengths'?"},
        {"resource { 'a', 8, 'unit', 'contiguous' }\nsearcher { 4, 'a' }\n",
         "f:2: searcher: resource 0 has 8 blocks"},
        {"name = 'x\n", "f:1: unfinished string"},
        {"modules = 1\nunits = = 2\n", "f:2: unexpected symbol near '='"},
        {"modules = 1\nunits = 1\n", "f:2: at its end: 0 waves in a unit"},
        {"modules = -4\n", "f:1: modules: '-4' is not a whole number"},
        {"modules = 1.5\n", "f:1: modules: '1.5' is not a whole number"},
        {"\n\nheat = 0 / 0\n", "nan' is not a number"},
        {"heat = '5e'\n", "f:1: heat: '5e' is not a number"},
        {"heat = 1e999\n", "f:1: heat: inf is not within"},
        {"heat = -1\n", "f:1: heat: -1 is not within"},
        {"heat = 'a\\0b'\n", "f:1: a text with a byte 0 in it"},
        {"modules = 4\r\nunits = 'x'\r\n", "f:2: units: 'x' is not"},
        {"modules = 4\nunits = 'x'", "f:2: units: 'x' is not"},
        {"", "f:1: at its end: 0 modules"},
        {"-- nothing\n", "f:1: at its end: 0 modules"},
        {"units = '\\27[31m'\n", "f:1: units: '?[31m' is not"},
        {"resource { 'a', 8, 'unit', 'contiguous', sampled = 'x' }\n",
         "f:1: 'x' is not known"},
        {"resource { 'a', 8, 'unit', 'contiguous', sampled = 3, grouped = 4 }",
         "f:1: a search is 'grouped' or 'sampled', not both"},
    };
    static const struct mistake workloads[] = {
        {"", "f:1: at its end: how many 'cycles'"},
        {"name = ''\n", "f:1: the name of the workload is missing"},
        {"machine = {}\n", "f:1: the file of the machine is missing"},
        {"cycles = 10\npriority = {}\n", "f:2: priority is missing"},
        {"mix {}\n", "f:1: a mix of what?"},
        {"cycles = 10\nkernel { 0, run = 5, mix = {} }\n",
         "f:2: the machine has no instruction class 'run'"},
        {"cycles = 10\nkernel { -1, run = 5 }\n", "f:2: channel: '-1' is not"},
        {"cycles = 10\nkernel { 0, run = { 5, 'to' } }\n",
         "f:2: longest run is missing"},
        {"independent = 0 / 0\n", "nan' is not a number"},
        {"cycles = 10\n", "no 'kernel' and nothing"},
        {"kernel { 0, run = 5 }\n", "how many 'cycles'"},
        {"cycles = 10\nkernel { 0, at = 1 }\n", "f:2: how long does it 'run'?"},
        {"cycles = 10\nkernel { 0, run = 5, vectors = 3 }\n",
         "f:2: 'vectors' is neither"},
        {"cycles = 10\nkernel { 0, run = 5,\n vector = 129 }\n",
         "f:2: resource 'vector': a group needs 129 blocks of one unit"},
        {"cycles = 10\nkernel { 0, run = 5, memory = 200 }\n",
         "f:2: resource 'memory'"},
        {"cycles = 10\nkernel { 0, run = 9223372036854775807 }\n",
         "f:2: run: 9223372036854775807 is not within"},
        {"cycles = 18446744073709551615\n", "f:1: cycles"},
        {"cycles = 10\nkernel { 0, run = 5, priority = 9 }\n",
         "f:2: priority: 9"},
        {"generate { 3 }\n", "f:1: generate what"},
        {"need { 'foo', 3 }\n", "f:1: the machine has no resource 'foo'"},
        {"waves = {}\n", "f:1: waves is missing"},
        {"waves = { 1, 'of' }\n", "f:1: waves: 'of' is not a whole number"},
        {"run { 'normal', 3 }\n", "f:1: only \"lognormal\""},
        {"mix { fma = 1 }\n",
         "f:1: the machine has no instruction class 'fma'"},
    };
    struct sim_machine machine, standard;
    struct sim_text text;

    read_machine(&standard, machine_text);
    refuse_machines(machines, sizeof(machines) / sizeof(*machines));
    refuse_workloads(&standard, workloads,
                     sizeof(workloads) / sizeof(*workloads));
    CHECK_FAILS(sim_text_from(&text, "f", "modules=4\nun\0ts=3\n", 20, &error),
                HD_EFORMAT, error, "f:2: not a text: byte 12 is 0");
    CHECK_FAILS(sim_machine_open(&machine, "/nonexistent/file", &error),
                HD_ENOENT, error, "/nonexistent/file");
    sim_machine_close(&standard);
}

// What is given twice is not taken as the first, nor as the last.
static void nothing_is_given_twice(void)
{
    static const struct mistake machines[] = {
        {"modules = 4\nunits = 2\n-- more\nmodules = 4\n",
         "f:4: 'modules' is given twice, first on line 1"},
        {"name = 'a'\nname = 'b'\n",
         "f:2: 'name' is given twice, first on line 1"},
        {"resource { 'a', 8, 'unit', 'counted' }\n"
         "resource { 'b', 8, 'unit', 'counted' }\n"
         "resource { 'a', 8, 'unit', 'counted' }\n",
         "f:3: 'resource a' is given twice, first on line 1"},
        {"instruction { 'a', 1 }\ninstruction { 'b', 1 }\n"
         "instruction { 'b', 2 }\n",
         "f:3: 'instruction b' is given twice, first on line 2"},
        {"search = 'cycle'\nsearch = 'cycle'\n",
         "f:2: 'search' is given twice"},
        {"resource { 'a', 8, 'unit', 'contiguous' }\nsearcher { 8, 'a' }\n"
         "searcher { 8, 'a' }\n",
         "f:3: 'searcher' is given twice, first on line 2"},
        {"resource { 'a', 8, 'unit', 'contiguous' }\n"
         "searcher { 8, 'a', 'a' }\n",
         "f:2: 'a' is given twice in this statement"},
        {"resource { 'a', 8, 'unit', 'counted', 'energy', 1, energy = 2 }\n",
         "f:1: 'energy' is given twice in this statement"},
    };
    static const struct mistake workloads[] = {
        {"cycles = 10\ncycles = 20\n",
         "f:2: 'cycles' is given twice, first on line 1"},
        {"machine = 'a'\n\nmachine = 'b'\n",
         "f:3: 'machine' is given twice, first on line 1"},
        {"need { 'vector', 3 }\nneed { 'scalar', 2 }\nneed { 'vector', 4, 5 "
         "}\n",
         "f:3: 'need vector' is given twice, first on line 1"},
        {"shrink { 'vector', 3 }\nneed { 'vector', 4 }\n"
         "shrink { 'vector', 3 }\n",
         "f:3: 'shrink vector' is given twice, first on line 1"},
        {"priority = { 1, 2 }\npriorities = 3\npriority = 2\n",
         "f:3: 'priority' is given twice, first on line 1"},
        {"kernel { 0, 'run', 5, run = 6 }\n",
         "f:1: 'run' is given twice in this statement"},
        {"mix { fma = 1 }\nmix { 'fma', 1, fma = 2 }\n",
         "f:2: 'fma' is given twice in this statement"},
    };
    static const char both[] =
        "cycles = 10\nkernel { 0, run = 5, vector = 1 }\n"
        "kernel { 0, run = { 5, to = 9 }, to = 1, mix = { fma = 1 } }\n"
        "mix { fma = 1 }\nmix { fma = 1 }\nneed { 'vector', 1 }\n"
        "shrink { 'vector', 1 }\ngroups = 1\nrun { 'lognormal', 1, 1 }";
    char classes[512];
    struct sim_machine standard;
    struct sim_workload workload;

    snprintf(classes, sizeof(classes),
             "%sinstruction { 'fma', 1 }\ninstruction { 'add', 1 }\n"
             "resource { 'to', 8, 'unit', 'counted' }\n",
             machine_text);
    read_machine(&standard, classes);
    refuse_machines(machines, sizeof(machines) / sizeof(*machines));
    refuse_workloads(&standard, workloads,
                     sizeof(workloads) / sizeof(*workloads));
    read_workload(&workload, &standard, both);
    CHECK(workload.written.count == 2 && workload.mix_count == 2);
    sim_workload_close(&workload);
    sim_machine_close(&standard);
}

// Other ends of lines, or none, make no difference.
static void lines_may_end_otherwise(void)
{
    struct sim_machine machine;

    read_machine(&machine, "modules = 3\r\nunits = 2\r\nwaves = 4\r\n"
                           "resource { 'a b', 8, 'unit', 'counted' }\r\n"
                           "heat = 50");
    CHECK(machine.shape.modules == 3 && machine.heat == 50 &&
          sim_machine_resource(&machine, "a b") == 0);
    sim_machine_close(&machine);
}

// A file may compute; what was set can be read, what was not is no number.
static void files_are_programs(void)
{
    static const struct mistake endless[] = {
        {"modules = 4\nwhile true do end\n", "f:2: stopped"},
        {"modules = 4\nwhile true do units = 4 end\n", "f:2: "},
        {"local s = 'x'\nwhile true do s = s .. s end\n", "f"},
        {"local s = string.rep('x', 1 << 20)\nwhile true do name = s end\n",
         "f:2: statements of more than 256 MiB"},
        {"os.exit(1)\n", "f:1: "},
        {"units = modules / 2\n", "f:1: attempt to perform arithmetic"},
    };
    struct sim_machine machine;
    struct sim_text text;

    read_machine(
        &machine,
        "modules = 4\nunits = modules // 2\nwaves = 2 ^ 3\n"
        "for _, name in ipairs { 'a', 'b' } do\n"
        "    resource { name, 8, 'unit', 'counted', together = false }\n"
        "end\n");
    CHECK(machine.shape.units == 2 && machine.shape.waves == 8);
    CHECK(sim_machine_resource(&machine, "b") == 1);
    CHECK(!machine.shape.resources[0].together);
    sim_machine_close(&machine);
    for (size_t i = 0; i < sizeof(endless) / sizeof(*endless); i++) {
        CHECK_OK(sim_text_from(&text, "f", endless[i].text,
                               strlen(endless[i].text), &error),
                 error);
        CHECK(sim_machine_read(&machine, &text) != HD_OK);
        CHECK(strncmp(error.text, endless[i].complaint,
                      strlen(endless[i].complaint)) == 0);
        sim_text_close(&text);
    }
}

// Files cut anywhere and with any byte changed are read or refused, no more.
static void damaged_files_do_no_harm(void)
{
    struct hdi_random random;
    struct sim_machine machine, standard;
    struct sim_workload workload;
    char copy[2048];

    hdi_random_seed(&random, 3);
    read_machine(&standard, machine_text);
    for (int which = 0; which < 2; which++) {
        const char *source = which ? workload_text : machine_text;
        size_t size = strlen(source);
        for (unsigned i = 0; i < 1500; i++) {
            struct sim_text text;
            size_t length = hdi_random_below(&random, 4)
                                ? size
                                : hdi_random_below(&random, (uint32_t)size);
            memcpy(copy, source, size);
            for (unsigned k = hdi_random_below(&random, 4); k > 0; k--)
                copy[hdi_random_below(&random, (uint32_t)size)] =
                    (char)hdi_random_below(&random, 256);
            if (sim_text_from(&text, "f", copy, length, &error) != HD_OK)
                continue;
            if (which &&
                sim_workload_read(&workload, &standard, &text) == HD_OK)
                sim_workload_close(&workload);
            if (!which && sim_machine_read(&machine, &text) == HD_OK)
                sim_machine_close(&machine);
            sim_text_close(&text);
        }
    }
    sim_machine_close(&standard);
}

static const char *folder;

static const char *file_with(const char *name, const char *data)
{
    static char path[320];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, strlen(data), file) == strlen(data));
    CHECK(fclose(file) == 0);
    return path;
}

static void recordings_become_workloads(void)
{
    struct sim_csv csv = {.arrival = "start",
                          .duration = "time, ms",
                          .channel = "queue",
                          .cycles = 1000};
    char out[4096] = "";
    FILE *file = fmemopen(out, sizeof(out) - 1, "w");
    const char *path =
        file_with("r.csv", "\xef\xbb\xbf" // as spreadsheets write it
                           "start,queue,\"time, ms\",regs\r\n"
                           "2.5,1,0.25,20\r\n\r\n1.0,0,\"3\",7\n");

    CHECK(file);
    CHECK_OK(sim_csv_need(&csv, "vector=regs*0.25", &error), error);
    CHECK_OK(sim_csv_convert(&csv, path, file, &error), error);
    fclose(file);
    CHECK(strstr(out, "kernel { 1, at = 1500, priority = 1, groups = 1, "
                      "waves = 1, run = 250, [\"vector\"] = 5 }\n"));
    CHECK(strstr(out, "kernel { 0, at = 0, priority = 1, groups = 1, "
                      "waves = 1, run = 3000, [\"vector\"] = 2 }\n"));
    struct setup s = set_up(machine_text, out, 1);
    CHECK(s.kernels.count == 2 && s.kernels.kernel[1].arrival == 1500);
    tear_down(&s);

    file = fopen("/dev/null", "w");
    CHECK(file);
    CHECK_FAILS(sim_csv_convert(&csv, file_with("b.csv", "start,queue\n1,2\n"),
                                file, &error),
                HD_EFORMAT, error, "b.csv:1: no column 'time, ms'");
    CHECK_FAILS(
        sim_csv_convert(&csv,
                        file_with("c.csv", "start,queue,\"time, ms\",regs\n"
                                           "1,0,x,3\n"),
                        file, &error),
        HD_EFORMAT, error, "c.csv:2: column 3: 'x' is not a number");
    CHECK_FAILS(
        sim_csv_convert(&csv,
                        file_with("d.csv", "start,queue,\"time, ms\",regs\n"
                                           "1,0\n"),
                        file, &error),
        HD_EFORMAT, error, "d.csv:2: 2 fields");
    CHECK_FAILS(sim_csv_convert(
                    &csv,
                    file_with("e.csv", "start,queue,regs,\"time, ms\",queue\n"
                                       "1,0,1,1,1\n"),
                    file, &error),
                HD_EFORMAT, error, "e.csv:1: columns 2 and 5 are both 'queue'");
    CHECK_FAILS(
        sim_csv_convert(&csv,
                        file_with("f.csv", "start,queue,\"time, ms\",regs\n"
                                           "1,0,1\r5,3\n"),
                        file, &error),
        HD_EFORMAT, error, "f.csv:2: column 3: '1?5' is not a number");
    fclose(file);
    CHECK_FAILS(sim_csv_need(&csv, "vector", &error), HD_EINVAL, error,
                "resource=column");
    CHECK_FAILS(sim_csv_need(&csv, "vector=queue", &error), HD_EINVAL, error,
                "resource 'vector' is given twice");
}

static void policies_are_parsed(void)
{
    struct hdi_policy policy;

    CHECK_OK(sim_policy_parse("plain,split=9,windows=9:8:7", &policy, &error),
             error);
    CHECK(policy.split_after == 9 && policy.windows.period == 24);
    CHECK_FAILS(sim_policy_parse("best", &policy, &error), HD_EINVAL, error,
                "no policy 'best'");
    CHECK_FAILS(sim_policy_parse("plain,foo=1", &policy, &error), HD_EINVAL,
                error, "foo=1");
    CHECK_FAILS(sim_policy_parse("plain,windows=3:3", &policy, &error),
                HD_EINVAL, error, "priority 2");
    CHECK_FAILS(sim_policy_parse("plain,left=-1", &policy, &error), HD_EINVAL,
                error, "left=-1");
}

static void timelines_show_every_group(void)
{
    struct setup s = set_up(machine_text, workload_text, 2);
    struct sim_timeline timeline;
    struct sim_result result;
    struct sim_run run = {.machine = &s.machine,
                          .workload = &s.workload,
                          .kernels = &s.kernels,
                          .policy = hdi_policy_plain(),
                          .timeline = &timeline};
    char path[320];
    static char data[4 << 20];
    unsigned shown = 0;

    CHECK_OK(sim_timeline_init(&timeline, 4, 1000000, &error), error);
    CHECK_OK(sim_run(&run, &result, &error), error);
    snprintf(path, sizeof(path), "%s/t.json", folder);
    CHECK_OK(sim_timeline_write(&timeline, path, &error), error);
    FILE *file = fopen(path, "rb");
    CHECK(file);
    size_t size = fread(data, 1, sizeof(data) - 1, file);
    fclose(file);
    CHECK(size > 0 && size < sizeof(data) - 1);
    for (const char *at = data; (at = strstr(at, "\"ph\":\"X\"")); at++)
        shown++;
    CHECK(shown == result.finished);
    CHECK(strncmp(data, "{\"traceEvents\":[", 16) == 0);
    CHECK(strcmp(data + size - 3, "}}\n") == 0);
    tear_down(&s);
}

static void remove_files(void)
{
    static const char *const names[] = {"r.csv", "b.csv", "c.csv", "d.csv",
                                        "e.csv", "f.csv", "t.json"};
    char path[320];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
    folder = make_folder();
    wrong_files_are_told_where();
    nothing_is_given_twice();
    lines_may_end_otherwise();
    files_are_programs();
    damaged_files_do_no_harm();
    recordings_become_workloads();
    policies_are_parsed();
    timelines_show_every_group();
    remove_files();
    return 0;
}
