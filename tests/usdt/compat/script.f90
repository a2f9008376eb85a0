! SPDX-License-Identifier: BSD-2-Clause
!
! script.f90 - carries out a script of calls of the module scope_profiler and prints every answer.
!
! Compiled twice, with scope-profiler's module and with ours; differential.py compares what they
! print. So it uses nothing that only one of them has, and prints no time and no text of a message.
program script
   use scope_profiler
   use, intrinsic :: iso_fortran_env, only: int64
   implicit none

   character(len=16) :: op
   character(len=300) :: line, text, file
   character(len=80) :: message
   integer :: id, number, stat, ios, i, regions
   type(sp_region_stats) :: stats

   regions = 0
   do
      read (*, "(a)", iostat=ios) line
      if (ios /= 0) exit
      read (line, *) op, id, number, text, file
      stat = -7
      message = "untouched"
      select case (op)
      case ("init")
         call sp_init(trim(text), stat=stat, errmsg=message)
         if (stat == SP_OK) regions = 0
      case ("rank")
         call sp_init(trim(text), number, stat, message)
         if (stat == SP_OK) regions = 0
      case ("longprefix")
         call sp_init(repeat("p", max(number, 0)), stat=stat, errmsg=message)
         if (stat == SP_OK) regions = 0
      case ("region")
         ! Trailing blanks belong to the argument here, and must not count.
         id = sp_region(text, stat=stat, errmsg=message)
      case ("place")
         id = sp_region(trim(text), trim(file), number, stat, message)
      case ("file")
         id = sp_region(trim(text), file, stat=stat)
      case ("begin")
         call sp_begin(id, stat, message)
      case ("quietbegin")
         call sp_begin(id)
      case ("end")
         call sp_end(id, stat, message)
      case ("statend")
         call sp_end(id, stat)
      case ("beginname")
         call sp_begin_name(text, stat, message)
      case ("endname")
         call sp_end_name(trim(text), stat, message)
      case ("reset")
         call sp_reset(stat, message)
      case ("flush")
         call sp_flush(stat, message)
      case ("finalize")
         call sp_finalize(stat, message)
      case ("stats")
         ! Compared: how many calls were completed, and which requests are refused. Not: durations.
         call sp_get_region_stats(id, stats, stat, message)
         if (stat /= SP_ERR_INACTIVE .and. stat /= SP_ERR_INVALID_ARGUMENT) stat = SP_OK
         message = ""
         write (*, "(a, i0)", advance="no") "completed ", stats%calls
      case default
         error stop "script: no such operation"
      end select
      if (op == "region" .or. op == "place" .or. op == "file") regions = max(regions, id)
      write (*, "(2a, i0, 1x, i0, 2l2)", advance="no") trim(op), " ", id, stat, message == "", sp_is_active()
      do i = 0, regions + 1
         write (*, "(1x, i0)", advance="no") sp_num_calls(i)
      end do
      write (*, *)
   end do
   write (*, *) SP_MAX_NAME, SP_ERR_DEPTH, sp_now_ns() > 0_int64
end program script
