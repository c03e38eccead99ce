/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of base/status. */
#include "base/status.h"
#include "support/suite.h"

#include <string.h>

START_TEST(every_status_has_a_name_and_a_text)
{
    for (int i = 0; i < WDL_STATUS_COUNT; i++) {
        ck_assert_str_ne(wdl_status_name(i), "UNKNOWN");
        ck_assert_str_ne(wdl_status_text(i), "unknown status");
        ck_assert(strlen(wdl_status_text(i)) > 0);
    }
}
END_TEST

START_TEST(names_differ)
{
    for (int i = 0; i < WDL_STATUS_COUNT; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(wdl_status_name(i), wdl_status_name(k));
}
END_TEST

START_TEST(a_stranger_is_unknown)
{
    ck_assert_str_eq(wdl_status_name(-1), "UNKNOWN");
    ck_assert_str_eq(wdl_status_name(WDL_STATUS_COUNT), "UNKNOWN");
    ck_assert_str_eq(wdl_status_text(-1), "unknown status");
    ck_assert_str_eq(wdl_status_text(WDL_STATUS_COUNT), "unknown status");
}
END_TEST

START_TEST(ok_is_zero)
{
    ck_assert_int_eq(WDL_OK, 0);
    ck_assert_str_eq(wdl_status_name(WDL_OK), "OK");
}
END_TEST

WDL_SUITE("base/status", every_status_has_a_name_and_a_text, names_differ, a_stranger_is_unknown,
          ok_is_zero)
