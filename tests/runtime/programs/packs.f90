! Packed data, a replicated derived type, and wrong calls in Fortran: packs STEPS
module of_packs
  use ductile_app
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(C) :: state
    integer(c_int) :: step = 0
    real(c_double) :: time = 0
  end type

  integer(c_int), target :: mine(5000), count = 0
  integer :: rank = 0

contains

  ! Process 0 gives all to the new process 0.
  integer(c_int) function give(user, to, size, data, bytes) bind(C)
    type(c_ptr), value :: user
    integer(c_int), value :: to, size
    type(c_ptr), intent(out) :: data
    integer(c_size_t), intent(out) :: bytes
    integer(c_int), pointer :: number
    call c_f_pointer(user, number)
    data = c_loc(mine)
    bytes = 0
    if (rank == 0 .and. to == 0) bytes = count * c_sizeof(mine(1))
    give = merge(0, 1, number == 4711 .and. size > 0)
  end function

  integer(c_int) function take(user, from, size, data, bytes) bind(C)
    type(c_ptr), value :: user
    integer(c_int), value :: from, size
    type(c_ptr), value :: data
    integer(c_size_t), value :: bytes
    integer(c_int), pointer :: given(:)
    take = merge(0, 1, c_associated(user) .and. from < size)
    if (bytes == 0) return
    count = int(bytes / c_sizeof(mine(1)))
    call c_f_pointer(data, given, [count])
    mine(:count) = given
  end function

end module

program packs
  use of_packs
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  type(state), target :: now
  integer(c_int), target :: number = 4711
  real(c_double), target :: none(2)
  integer :: ierr, i, steps
  character(16) :: text

  interface
    function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
      integer(c_int) :: usleep
    end function
  end interface

  ierr = ductile_init()
  comm%MPI_VAL = ductile_comm()
  call MPI_Comm_rank(comm, rank)
  call get_command_argument(1, text)
  read (text, *) steps
  if (ductile_sizes(1, 5, "list:1:2:3:5") /= 0) error stop "sizes"
  if (ductile_add_replicated("state", ductile_data(c_loc(now), c_sizeof(now))) /= 0) error stop "state"
  if (ductile_add_packed("numbers", give, take, c_loc(number)) /= 0) error stop "numbers"
  if (ductile_moved("state", ductile_data(none)) /= DUCTILE_ERROR) error stop "moved"
  if (ductile_join() /= 0) error stop "join"
  do while (now%step < steps)
    if (ductile_must_leave()) then
      ierr = ductile_finalize()
      stop
    end if
    if (rank == 0) then
      count = count + 1
      mine(count) = now%step
    end if
    now%step = now%step + 1
    now%time = now%time + 0.5
    ierr = usleep(50000)
  end do
  if (rank == 0) then
    if (any(mine(:count) /= [(i, i = 0, steps - 1)])) error stop "numbers are not as they were"
    print '(i0,a,f0.1)', count, " numbers, time ", now%time
  end if
  ierr = ductile_finalize()
end program
