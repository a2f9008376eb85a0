/* SPDX-License-Identifier: BSD-2-Clause
 *
 * names.h - from the linker's names of functions to those that their authors wrote.
 *
 * C++ (Itanium ABI, which includes Rust's older scheme) through __cxa_demangle of the C++ runtime:
 * callable from C, on every machine that has a C++ compiler, the same code as in addr2line -C, and
 * cared for by the distribution. Procedures of Fortran modules as module::procedure, as gfortran
 * spells them (__m_MOD_s).
 */
#ifndef SP_ANALYSIS_NAMES_H
#define SP_ANALYSIS_NAMES_H

/* A readable form of the linker name @raw, to free(); NULL if @raw is already that (or there is no
 * memory). @raw may be anything; names of more than 64 KiB are left alone. */
char *sp_name_demangle(const char *raw);

/* A readable name without its template arguments, parameters and what stands after them:
 * "std::vector<…>::push_back" for a table's column. To free(); NULL without memory. */
char *sp_name_shorten(const char *name);

#endif
