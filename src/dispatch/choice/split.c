#include "dispatch/choice/split.h"

// Even shares; what is left over goes to the first places, one each.
void hdi_split_table(uint16_t *table, uint32_t units, uint32_t waves)
{
    for (uint32_t w = 0; w <= units * waves; w++) {
        for (uint32_t place = 0; place < units; place++)
            table[w * units + place] =
                (uint16_t)(w / units + (place < w % units));
    }
}
