! SPDX-License-Identifier: BSD-2-Clause
module heat
  implicit none
contains
  subroutine step(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n)
    integer :: i
    do i = 2, n - 1
      u(i) = u(i) + 0.1d0 * (u(i - 1) - 2 * u(i) + u(i + 1))
    end do
  end subroutine step
end module heat

program solver
  use heat
  implicit none
  real(8) :: u(50)
  integer :: k
  u = 0
  u(25) = 1
  do k = 1, 10
    call step(u, 50)
  end do
  print *, sum(u)
end program solver
