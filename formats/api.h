/* SPDX-License-Identifier: BSD-2-Clause
 *
 * api.h - marks what the shared library exports: every header that is installed has its declarations
 * between SP_API_BEGIN and SP_API_END. The rest of the library is hidden (-fvisibility=hidden).
 */
#ifndef SP_FORMATS_API_H
#define SP_FORMATS_API_H

#ifdef __cplusplus
#define SP_API_BEGIN extern "C" { _Pragma("GCC visibility push(default)")
#define SP_API_END \
	_Pragma("GCC visibility pop") \
	}
#else
#define SP_API_BEGIN _Pragma("GCC visibility push(default)")
#define SP_API_END _Pragma("GCC visibility pop")
#endif

#endif
