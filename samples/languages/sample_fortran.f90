! A library in Fortran: a subroutine of the old kind, and a function of a module.

subroutine scale_all(count, values, factor)
  implicit none
  integer, intent(in) :: count
  double precision, intent(inout) :: values(count)
  double precision, intent(in) :: factor
  integer :: i
  do i = 1, count
    values(i) = values(i) * factor
  end do
end subroutine scale_all

module geometry
  implicit none
contains
  function norm(count, values) result(length)
    integer, intent(in) :: count
    double precision, intent(in) :: values(count)
    double precision :: length
    length = sqrt(sum(values * values))
  end function norm
end module geometry
