/* SPDX-License-Identifier: BSD-2-Clause */
/* With -DSP_REGION_DISABLE: no code, no section, no argument evaluated. */
#include "usdt/sp_region.h"

unsigned disabled_run(unsigned x);
const char *never_called(void);

unsigned disabled_run(unsigned x)
{
	sp_region_t region = sp_region_intern(never_called());
	sp_region_t other =
		sp_region_intern_at(never_called(), never_called(), x++, never_called());
	void (*begin)(sp_region_t) = sp_region_begin;

	SP_REGION_FUNCTION();
	SP_REGION_SCOPE("scope");
	SP_REGION_SCOPE_TAGGED("scope", "tags");
	SP_REGION_BEGIN("pair");
	SP_REGION_BEGIN_TAGGED("pair", "tags");
	SP_REGION_END("pair");
	sp_region_begin((x++, region));
	sp_region_end((x++, other));
	begin(region);
	return SP_REGION_ENABLED() || region || other ? 0 : x;
}
