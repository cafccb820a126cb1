! Heat on a square plate, rows distributed over the processes: examples/jacobi in Fortran. A row is a
! column of the array here, whose last index is that of the row.
! Usage: heat ROWS COLUMNS ITERATIONS [MILLISECONDS_PER_ITERATION]
program heat
  use ductile_app
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none

  type(MPI_Comm) :: comm
  integer :: rank, size, up, down, ierr, milliseconds, i, j, columns
  integer(int64) :: rows, iterations, first, last, bits
  integer(int64), target :: iteration = 0, sum = 0, total
  real(real64), allocatable, target :: now(:, :), next(:, :), swap(:, :)
  real(real64) :: change, largest
  logical :: is_joining

  interface
    function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
      integer(c_int) :: usleep
    end function
  end interface

  is_joining = ductile_init() == DUCTILE_JOINING
  comm%MPI_VAL = ductile_comm()
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Comm_size(comm, size, ierr)
  if (command_argument_count() < 3) then
    if (rank == 0) print '(a)', "usage: heat ROWS COLUMNS ITERATIONS [MILLISECONDS]"
    call MPI_Abort(comm, 2, ierr)
  end if
  rows = argument(1)
  columns = int(argument(2))
  iterations = argument(3)
  milliseconds = 0
  if (command_argument_count() > 3) milliseconds = int(argument(4))

  ! Own rows with one ghost row on either side.
  call ductile_block(rows, rank, size, first, last)
  allocate (now(columns, first - 1:last + 1), next(columns, first - 1:last + 1), source = 0.0_real64)
  ierr = ductile_add_replicated("iteration", ductile_data(iteration))
  ierr = ductile_add_block("plate", ductile_data(now), rows, halo = 1)
  ierr = ductile_join()

  if (.not. is_joining) then
    do j = int(first), int(last)
      do i = 1, columns
        now(i, j) = mod((j - 1) * 7919 + (i - 1) * 104729, 1000) / 10.0_real64
      end do
    end do
  end if

  up = merge(rank - 1, MPI_PROC_NULL, rank > 0 .and. last >= first)
  down = merge(rank + 1, MPI_PROC_NULL, rank < size - 1 .and. last >= first)
  do while (iteration < iterations)
    if (ductile_must_leave()) then
      ierr = ductile_finalize()
      stop
    end if
    call MPI_Sendrecv(now(:, first), columns, MPI_DOUBLE_PRECISION, up, 0, now(:, last + 1), columns, &
        MPI_DOUBLE_PRECISION, down, 0, comm, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(now(:, last), columns, MPI_DOUBLE_PRECISION, down, 1, now(:, first - 1), columns, &
        MPI_DOUBLE_PRECISION, up, 1, comm, MPI_STATUS_IGNORE, ierr)
    change = 0
    do j = int(first), int(last)
      do i = 1, columns
        next(i, j) = 0.25_real64 * (now(i, j - 1) + now(i, j + 1) + at(i - 1, j) + at(i + 1, j))
        change = max(change, abs(next(i, j) - now(i, j)))
      end do
    end do
    call MPI_Reduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, comm, ierr)
    if (rank == 0 .and. mod(iteration, 100_int64) == 0) print '(a,i0,a,es24.16)', "iteration ", iteration, &
        " change ", largest
    call move_alloc(now, swap)
    call move_alloc(next, now)
    call move_alloc(swap, next)
    ierr = ductile_moved("plate", ductile_data(now))
    iteration = iteration + 1
    if (milliseconds > 0) ierr = usleep(1000 * milliseconds)
  end do

  ! A checksum that sees every bit of every value and does not depend on the order.
  do j = int(first), int(last)
    do i = 1, columns
      bits = transfer(now(i, j), bits)
      sum = sum + shiftr(ieor(bits, (j - 1) * int(columns, int64) + i - 1) * (-7046029254386353131_int64), 7)
    end do
  end do
  call MPI_Reduce(sum, total, 1, MPI_INTEGER8, MPI_SUM, 0, comm, ierr)
  if (rank == 0) print '(a,z16.16)', "checksum ", total
  ierr = ductile_finalize()

contains

  integer(int64) function argument(number)
    integer, intent(in) :: number
    character(32) :: text
    call get_command_argument(number, text)
    read (text, *) argument
  end function

  ! The plate ends at the first and the last column.
  real(real64) function at(i, j)
    integer, intent(in) :: i, j
    at = 0
    if (i >= 1 .and. i <= columns) at = now(i, j)
  end function

end program
