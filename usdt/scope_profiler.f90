! SPDX-License-Identifier: BSD-2-Clause
!
! scope_profiler.f90 - regions for Fortran programs, with the API of scope-profiler's Fortran module,
! recorded from outside by sp-trace.
!
!     cc -O2 -c scope_profiler.c
!     gfortran -O2 -g scope_profiler.f90 app.f90 scope_profiler.o
!
! (Where the build makes an object of each file, give that of the C file another name.) A program
! written for that module needs no other change. Its regions are probes then, which cost some 20 ns for
! a begin and an end while nobody listens; the program measures no time and writes no file.
!
!     program app
!        use scope_profiler
!        integer :: solve, step
!        call sp_init("run")
!        solve = sp_region("solve")            ! once, outside the loop; handles count from 1
!        do step = 1, 1000
!           call sp_begin(solve)
!           call work()
!           call sp_end(solve)
!        end do
!        call sp_finalize()
!     end program app
!
! Every procedure that can fail takes stat and errmsg, both optional: stat gets SP_OK or one of the
! SP_ERR_ numbers below, errmsg a text, blank for SP_OK. With neither given, errors go to stderr,
! except that a profiler that is not running is never an error worth a message.
!
! Truthful: handles, counts, unmatched ends, open calls. Refused with SP_ERR_UNSUPPORTED: durations
! (sp_get_region_stats). Accepted and without effect: prefix and rank, sp_flush, and the writing part
! of sp_finalize. Never returned here: SP_ERR_NO_CLOCK, SP_ERR_IO and SP_ERR_DEPTH, as no clock is
! read, no file written and nesting has no limit (with scope-profiler: 64 calls of a region).
!
! Names: trailing blanks do not count, and only the first SP_MAX_NAME characters do; a NUL ends them.
! Threads (OpenMP): handles may be shared and all procedures called by all threads; only sp_init must
! not overlap other calls. A call belongs to the thread that began it. Counts are exact.
! This state is apart from C's sp_init(), so that C and Fortran parts of a program do not disturb
! each other; a recording holds both. Regions with file and line, and no handle: sp_region.F90.inc.
module scope_profiler
   use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_char, c_ptr, c_null_ptr, c_null_char, &
                                          c_associated
   use, intrinsic :: iso_fortran_env, only: int64, error_unit
   implicit none
   private

   public :: sp_init, sp_finalize, sp_is_active, sp_flush, sp_reset
   public :: sp_region, sp_begin, sp_end, sp_begin_name, sp_end_name
   public :: sp_num_calls, sp_get_region_stats, sp_now_ns

   integer, parameter, public :: SP_OK = 0
   integer, parameter, public :: SP_ERR_INACTIVE = 1         ! sp_init was not called, or sp_finalize was
   integer, parameter, public :: SP_ERR_NO_CLOCK = 2         ! never
   integer, parameter, public :: SP_ERR_NO_MEMORY = 3
   integer, parameter, public :: SP_ERR_IO = 4               ! never
   integer, parameter, public :: SP_ERR_UNMATCHED_END = 5    ! no open call of this thread to end
   integer, parameter, public :: SP_ERR_OPEN_SCOPES = 6      ! calls are still open
   integer, parameter, public :: SP_ERR_INVALID_ARGUMENT = 7 ! no such handle, bad prefix or rank
   integer, parameter, public :: SP_ERR_DEPTH = 8            ! never
   integer, parameter, public :: SP_ERR_UNSUPPORTED = 9      ! durations; not in scope-profiler

   ! Significant characters of a name.
   integer, parameter, public :: SP_MAX_NAME = 128

   ! calls: completed ones. From sp_get_region_stats the times are -1, unknown.
   type, public :: sp_region_stats
      integer(int64) :: calls = 0, total_ns = 0, min_ns = 0, max_ns = 0
   end type sp_region_stats

   integer, parameter :: max_prefix = 512
   character(len=*), parameter :: inactive = "the profiler is not running"
   character(len=*), parameter :: no_handle = "no such region handle"
   type(c_ptr) :: profiler = c_null_ptr
   logical :: told_unsupported = .false.

   ! Handles of C count from 0. Statuses of C: 0 to 6 as above, 7 for what has no number there.
   interface
      function c_create(prefix, rank) bind(c, name="sp_create") result(p)
         import :: c_char, c_int, c_ptr
         character(kind=c_char), intent(in) :: prefix(*)
         integer(c_int), value :: rank
         type(c_ptr) :: p
      end function c_create

      subroutine c_destroy(p) bind(c, name="sp_destroy")
         import :: c_ptr
         type(c_ptr), value :: p
      end subroutine c_destroy

      function c_is_active(p) bind(c, name="sp_profiler_is_active") result(yes)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int) :: yes
      end function c_is_active

      function c_region(p, name) bind(c, name="sp_profiler_region") result(id)
         import :: c_char, c_int, c_ptr
         type(c_ptr), value :: p
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int) :: id
      end function c_region

      function c_region_at(p, name, file, line) bind(c, name="sp_profiler_region_at") result(id)
         import :: c_char, c_int, c_ptr
         type(c_ptr), value :: p
         character(kind=c_char), intent(in) :: name(*), file(*)
         integer(c_int), value :: line
         integer(c_int) :: id
      end function c_region_at

      function c_find(p, name) bind(c, name="sp_trace_find") result(id)
         import :: c_char, c_int, c_ptr
         type(c_ptr), value :: p
         character(kind=c_char), intent(in) :: name(*)
         integer(c_int) :: id
      end function c_find

      function c_begin(p, id) bind(c, name="sp_trace_begin") result(status)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int), value :: id
         integer(c_int) :: status
      end function c_begin

      function c_end(p, id) bind(c, name="sp_trace_end") result(status)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int), value :: id
         integer(c_int) :: status
      end function c_end

      function c_num_regions(p) bind(c, name="sp_profiler_num_regions") result(n)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int) :: n
      end function c_num_regions

      function c_num_calls(p, id) bind(c, name="sp_trace_num_calls") result(n)
         import :: c_int, c_int64_t, c_ptr
         type(c_ptr), value :: p
         integer(c_int), value :: id
         integer(c_int64_t) :: n
      end function c_num_calls

      function c_num_open(p, id) bind(c, name="sp_trace_num_open") result(n)
         import :: c_int, c_int64_t, c_ptr
         type(c_ptr), value :: p
         integer(c_int), value :: id
         integer(c_int64_t) :: n
      end function c_num_open

      function c_reset(p) bind(c, name="sp_profiler_reset") result(status)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int) :: status
      end function c_reset

      function c_finalize(p) bind(c, name="sp_trace_finalize") result(status)
         import :: c_int, c_ptr
         type(c_ptr), value :: p
         integer(c_int) :: status
      end function c_finalize

      function c_now_ns() bind(c, name="sp_now_ns") result(now)
         import :: c_int64_t
         integer(c_int64_t) :: now
      end function c_now_ns
   end interface

contains

   ! CLOCK_MONOTONIC in nanoseconds: the clock of the recording and of Python's perf_counter_ns().
   function sp_now_ns() result(now)
      integer(int64) :: now

      now = c_now_ns()
   end function sp_now_ns

   function sp_is_active() result(yes)
      logical :: yes

      yes = c_is_active(profiler) /= 0
   end function sp_is_active

   ! Starts a session; handles and counts of an earlier one are gone. A prefix that is blank or longer
   ! than 512 characters, and a negative rank, are SP_ERR_INVALID_ARGUMENT and change nothing. Both are
   ! checked and not used: the recorder names the files and knows the rank.
   subroutine sp_init(prefix, rank, stat, errmsg)
      character(len=*), intent(in) :: prefix
      integer, intent(in), optional :: rank
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      if (len_trim(prefix) == 0 .or. len_trim(prefix) > max_prefix) then
         call answer(SP_ERR_INVALID_ARGUMENT, "the prefix is blank or too long", stat, errmsg)
         return
      end if
      if (present(rank)) then
         if (rank < 0) then
            call answer(SP_ERR_INVALID_ARGUMENT, "the rank is negative", stat, errmsg)
            return
         end if
      end if
      call c_destroy(profiler)
      profiler = c_create(trim(prefix)//c_null_char, 0_c_int)
      if (c_associated(profiler)) then
         call answer(SP_OK, "", stat, errmsg)
      else
         call answer(SP_ERR_NO_MEMORY, "no memory for a profiler", stat, errmsg)
      end if
   end subroutine sp_init

   ! The handle of a name, from 1 in the order of first use; 0 on failure. file and line say where the
   ! region stands: the first file given for a name stays, and may be given later than the name.
   function sp_region(name, file, line, stat, errmsg) result(id)
      character(len=*), intent(in) :: name
      character(len=*), intent(in), optional :: file
      integer, intent(in), optional :: line
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg
      integer :: id
      integer(c_int) :: at
      logical :: placed

      id = 0
      if (.not. sp_is_active()) then
         call answer(SP_ERR_INACTIVE, inactive, stat, errmsg)
         return
      end if
      placed = .false.
      if (present(file)) placed = len_trim(file) > 0
      if (placed) then
         at = -1
         if (present(line)) at = int(line, c_int)
         id = 1 + c_region_at(profiler, key(name), trim(file)//c_null_char, at)
      else
         id = 1 + c_region(profiler, key(name))
      end if
      if (id > 0) then
         call answer(SP_OK, "", stat, errmsg)
      else
         call answer(SP_ERR_NO_MEMORY, "no memory for a region", stat, errmsg)
      end if
   end function sp_region

   ! Enters a region.
   subroutine sp_begin(id, stat, errmsg)
      integer, intent(in) :: id
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      call answer_c(c_begin(profiler, handle(id)), stat, errmsg)
   end subroutine sp_begin

   ! Leaves the innermost open call of a region.
   subroutine sp_end(id, stat, errmsg)
      integer, intent(in) :: id
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      call answer_c(c_end(profiler, handle(id)), stat, errmsg)
   end subroutine sp_end

   ! The same with a look-up each time.
   subroutine sp_begin_name(name, stat, errmsg)
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg
      integer :: id

      id = 0
      if (sp_is_active()) then
         id = 1 + c_region(profiler, key(name))
         if (id == 0) then
            call answer(SP_ERR_NO_MEMORY, "no memory for a region", stat, errmsg)
            return
         end if
      end if
      call sp_begin(id, stat, errmsg)
   end subroutine sp_begin_name

   ! A name that was never begun is SP_ERR_UNMATCHED_END, and does not become a region.
   subroutine sp_end_name(name, stat, errmsg)
      character(len=*), intent(in) :: name
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg
      integer :: id

      id = 0
      if (sp_is_active()) then
         id = 1 + c_find(profiler, key(name))
         if (id == 0) then
            call answer_c(int(SP_ERR_UNMATCHED_END, c_int), stat, errmsg)
            return
         end if
      end if
      call sp_end(id, stat, errmsg)
   end subroutine sp_end_name

   ! Entries since sp_init or sp_reset, open calls included, also after sp_finalize; 0 for no handle.
   function sp_num_calls(id) result(calls)
      integer, intent(in) :: id
      integer(int64) :: calls

      calls = c_num_calls(profiler, handle(id))
   end function sp_num_calls

   ! Completed calls, and -1 for all times with SP_ERR_UNSUPPORTED: they are in the recording. Without
   ! stat and errmsg that is said once, on stderr.
   subroutine sp_get_region_stats(id, stats, stat, errmsg)
      integer, intent(in) :: id
      type(sp_region_stats), intent(out) :: stats
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg
      integer(c_int) :: c_id, n

      if (.not. c_associated(profiler)) then
         call answer(SP_ERR_INACTIVE, inactive, stat, errmsg)
         return
      end if
      n = c_num_regions(profiler)
      if (id < 1 .or. id > n) then
         call answer(SP_ERR_INVALID_ARGUMENT, no_handle, stat, errmsg)
         return
      end if
      c_id = handle(id)
      stats%calls = c_num_calls(profiler, c_id) - c_num_open(profiler, c_id)
      stats%total_ns = -1
      stats%min_ns = -1
      stats%max_ns = -1
      if (told_unsupported .and. .not. present(stat) .and. .not. present(errmsg)) return
      told_unsupported = .true.
      call answer(SP_ERR_UNSUPPORTED, "durations are in the recording, not in the program", stat, errmsg)
   end subroutine sp_get_region_stats

   ! Counts begin again at 0, handles stay. Refused with SP_ERR_OPEN_SCOPES while any call is open.
   subroutine sp_reset(stat, errmsg)
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      if (sp_is_active()) then
         call answer_c(c_reset(profiler), stat, errmsg)
      else
         call answer(SP_ERR_INACTIVE, inactive, stat, errmsg)
      end if
   end subroutine sp_reset

   ! Nothing to do: what was recorded so far is already outside of the process.
   subroutine sp_flush(stat, errmsg)
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      if (sp_is_active()) then
         call answer(SP_OK, "", stat, errmsg)
      else
         call answer(SP_ERR_INACTIVE, inactive, stat, errmsg)
      end if
   end subroutine sp_flush

   ! Ends the session: begins and ends are ignored from here on, counts stay readable. Calls still
   ! open are SP_ERR_OPEN_SCOPES, and a recording shows them without an end. May be repeated.
   subroutine sp_finalize(stat, errmsg)
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      call answer_c(c_finalize(profiler), stat, errmsg)
   end subroutine sp_finalize

   ! A name as C wants it. Fixed length, so that nothing is allocated.
   pure function key(name)
      character(len=*), intent(in) :: name
      character(len=SP_MAX_NAME + 1) :: key
      integer :: n

      n = min(len(name), SP_MAX_NAME)
      n = len_trim(name(1:n))
      key = name(1:n)
      key(n + 1:n + 1) = c_null_char
   end function key

   ! C's handle; what is none here becomes its -1.
   pure function handle(id)
      integer, intent(in) :: id
      integer(c_int) :: handle

      handle = int(max(id, 0), c_int) - 1_c_int
   end function handle

   subroutine answer(code, message, stat, errmsg)
      integer, intent(in) :: code
      character(len=*), intent(in) :: message
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      if (present(stat)) stat = code
      if (present(errmsg)) errmsg = message
      if (present(stat) .or. present(errmsg) .or. code == SP_OK .or. code == SP_ERR_INACTIVE) return
      write (error_unit, "(2a)") "scope_profiler: ", message
   end subroutine answer

   subroutine answer_c(status, stat, errmsg)
      integer(c_int), intent(in) :: status
      integer, intent(out), optional :: stat
      character(len=*), intent(out), optional :: errmsg

      select case (status)
      case (SP_OK)
         if (present(stat)) stat = SP_OK
         if (present(errmsg)) errmsg = ""
      case (SP_ERR_INACTIVE)
         call answer(SP_ERR_INACTIVE, inactive, stat, errmsg)
      case (SP_ERR_NO_MEMORY)
         call answer(SP_ERR_NO_MEMORY, "no memory to count a call", stat, errmsg)
      case (SP_ERR_UNMATCHED_END)
         call answer(SP_ERR_UNMATCHED_END, "an end without a begin in this thread", stat, errmsg)
      case (SP_ERR_OPEN_SCOPES)
         call answer(SP_ERR_OPEN_SCOPES, "regions are still open", stat, errmsg)
      case default
         call answer(SP_ERR_INVALID_ARGUMENT, no_handle, stat, errmsg)
      end select
   end subroutine answer_c

end module scope_profiler

! What the macros of sp_region.F90.inc expand to: regions without a session. Names are as short as they
! are because a macro must fit into one line of the program.
module sp_r_
   use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_char
   implicit none
   private
   public :: sp_k_, sp_b_, sp_e_

   ! Kind of the variable in which a place remembers its region.
   integer, parameter :: sp_k_ = c_intptr_t

   interface
      subroutine c_site_begin(site, name, name_len, file, file_len, line, tags, tags_len) &
         bind(c, name="sp_trace_site_begin")
         import :: c_char, c_int, c_intptr_t
         integer(c_intptr_t), intent(inout) :: site
         character(kind=c_char), intent(in) :: name(*), file(*), tags(*)
         integer(c_int), value :: name_len, file_len, line, tags_len
      end subroutine c_site_begin

      subroutine c_site_end(site, name, name_len, file, file_len, line) &
         bind(c, name="sp_trace_site_end")
         import :: c_char, c_int, c_intptr_t
         integer(c_intptr_t), intent(inout) :: site
         character(kind=c_char), intent(in) :: name(*), file(*)
         integer(c_int), value :: name_len, file_len, line
      end subroutine c_site_end
   end interface

contains

   subroutine sp_b_(site, name, file, line, tags)
      integer(sp_k_), intent(inout) :: site
      character(len=*), intent(in) :: name, file
      integer, intent(in) :: line
      character(len=*), intent(in), optional :: tags

      if (present(tags)) then
         call c_site_begin(site, name, len(name, c_int), file, len(file, c_int), &
                           int(line, c_int), tags, len(tags, c_int))
      else
         call c_site_begin(site, name, len(name, c_int), file, len(file, c_int), &
                           int(line, c_int), "", 0_c_int)
      end if
   end subroutine sp_b_

   subroutine sp_e_(site, name, file, line)
      integer(sp_k_), intent(inout) :: site
      character(len=*), intent(in) :: name, file
      integer, intent(in) :: line

      call c_site_end(site, name, len(name, c_int), file, len(file, c_int), int(line, c_int))
   end subroutine sp_e_

end module sp_r_
