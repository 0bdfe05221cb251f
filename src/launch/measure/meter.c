#include "launch/measure/meter.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A number of microjoules in a file of a zone; negative: there is none.
static double read_number(const char *zone, const char *file)
{
    char path[640];
    double number = -1;

    snprintf(path, sizeof(path), "%s/%s", zone, file);
    FILE *from = fopen(path, "re");
    if (!from)
        return -1;
    if (fscanf(from, "%lf", &number) != 1 || !(number >= 0))
        number = -1;
    fclose(from);
    return number;
}

static bool is_package(const char *zone)
{
    char path[640], name[16] = "";

    snprintf(path, sizeof(path), "%s/name", zone);
    FILE *from = fopen(path, "re");
    if (!from)
        return false;
    bool is = fgets(name, sizeof(name), from) &&
              strncmp(name, "package-", strlen("package-")) == 0;
    fclose(from);
    return is;
}

static void add_zone(struct hdi_meter *meter, const char *tree,
                     const char *name)
{
    char *path = meter->zone[meter->zones].path;
    size_t room = sizeof(meter->zone->path);

    if ((size_t)snprintf(path, room, "%s/%s", tree, name) >= room ||
        !is_package(path))
        return;
    double range = read_number(path, "max_energy_range_uj");
    double now = read_number(path, "energy_uj");
    if (range <= 0 || now < 0)
        return;
    meter->zone[meter->zones].range = range;
    meter->zone[meter->zones++].last = now;
}

// Entries of the tree that are no packages, or cannot be read, are left out.
bool hdi_meter_open(struct hdi_meter *meter)
{
    const char *named = secure_getenv("HEDDLE_POWERCAP");
    const char *tree = named && *named ? named : "/sys/class/powercap";
    const struct dirent *entry;

    meter->zones = 0;
    meter->sum = 0;
    DIR *folder = opendir(tree);
    if (!folder)
        return false;
    while (meter->zones < HDI_METER_ZONES && (entry = readdir(folder)) != NULL)
        add_zone(meter, tree, entry->d_name);
    closedir(folder);
    return meter->zones > 0;
}

// A counter that is less than before has begun again at 0.
double hdi_meter_read(struct hdi_meter *meter)
{
    for (unsigned z = 0; z < meter->zones; z++) {
        double now = read_number(meter->zone[z].path, "energy_uj");
        double last = meter->zone[z].last;

        if (now < 0)
            continue; // what was used meanwhile comes with the next reading
        meter->sum +=
            (now < last ? now + meter->zone[z].range - last : now - last) * 1e6;
        meter->zone[z].last = now;
    }
    return meter->sum;
}
