#include "base/error.h"

#include "base/text.h"
#include "tests/check.h"

static void text_is_written_on_failure(void)
{
    struct hd_error error = {0};

    CHECK(hdi_fail(&error, HD_ENOENT, "no file '%s'", "a.cl") == HD_ENOENT);
    CHECK(error.status == HD_ENOENT);
    CHECK(strcmp(error.text, "no file 'a.cl'") == 0);
    hdi_prefix_error(&error, "planet.lua:%d", 3);
    CHECK(error.status == HD_ENOENT);
    CHECK(strcmp(error.text, "planet.lua:3: no file 'a.cl'") == 0);
}

static void long_text_is_cut_at_a_line(void)
{
    struct hd_error error;
    struct hdi_text text = {0};

    for (int i = 0; i < 1000; i++)
        hdi_text_print(&text, "line %d\n", i);
    hdi_fail_text(&error, HD_EBUILD, text.data, text.size);
    CHECK(strlen(error.text) < HD_ERROR_TEXT);
    CHECK(strncmp(error.text, "line 0\nline 1\n", 14) == 0);
    char *last = strrchr(error.text, '\n');
    CHECK(strstr(last, "there is more"));
    CHECK(strncmp(last - 8, "line", 4) == 0);

    hdi_prefix_error(&error, "again");
    CHECK(strncmp(error.text, "again: line 0\n", 14) == 0);
    CHECK(strlen(error.text) < HD_ERROR_TEXT);
    hdi_text_free(&text);
}

static void every_status_has_its_own_text(void)
{
#define X(name, text) CHECK(strcmp(hd_status_text(HD_##name), text) == 0);
    HD_STATUS_MAP(X)
#undef X
    CHECK(strcmp(hd_status_text((hd_status)9999), "unknown status") == 0);
}

static void json_strings_are_escaped(void)
{
    struct hdi_text text = {0};
    hdi_text_json(&text, "a\"b\\c\n\x01");
    CHECK(strcmp(text.data, "\"a\\\"b\\\\c\\u000a\\u0001\"") == 0);
    hdi_text_free(&text);

    // Good UTF-8 stays; stray, overlong, cut and surrogate bytes do not.
    hdi_text_json(&text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK(strcmp(text.data, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"") == 0);
    hdi_text_free(&text);
    hdi_text_json(&text, "x\xff\xc0\xaf\xed\xa0\x80y\xe2\x82");
    CHECK(strncmp(text.data, "\"x\\ufffd\\ufffd\\ufffd\\ufffd", 26) == 0);
    for (const char *c = text.data; *c; c++)
        CHECK((unsigned char)*c < 0x80);
    hdi_text_free(&text);
}

int main(void)
{
    text_is_written_on_failure();
    long_text_is_cut_at_a_line();
    every_status_has_its_own_text();
    json_strings_are_escaped();
    return 0;
}
