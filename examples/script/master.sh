#!/bin/sh
# A master with as many workers as it may have: adds up the squares of 1 to N, a chunk of numbers at a time.
#
#   ductile run --kind script -n 2 --max 8 -- ./master.sh 100000 200
#
# A worker is a process that is started for one chunk. A resize is over when no more of them run than
# there may be: when it shrinks, those that are too many finish their chunks first.
numbers=$1 chunks=$2
allowed=${DUCTILE_SIZE:-1} # 1 without ductile
answer=                    # owed for an order
next=0 running=0 sum=0

results=$(mktemp -d) || exit 1
trap 'rm -rf "$results"' EXIT
mkfifo "$results/done"
exec 9<>"$results/done"

work() { # CHUNK
  first=$(($1 * numbers / chunks + 1)) last=$((($1 + 1) * numbers / chunks)) part=0
  while [ "$first" -le "$last" ]; do
    part=$((part + first * first)) first=$((first + 1))
  done
  echo "$part" >&9
}

# Orders come on this descriptor, as "SIZE CPUS HOSTS"; they are passed on to where results are read.
if [ -n "$DUCTILE_RESIZE_FD" ]; then
  while read -r size _; do echo "size $size" >&9; done <&"$DUCTILE_RESIZE_FD" &
  listener=$!
fi

while [ "$next" -lt "$chunks" ] || [ "$running" -gt 0 ]; do
  while [ "$next" -lt "$chunks" ] && [ "$running" -lt "$allowed" ]; do
    work "$next" &
    next=$((next + 1)) running=$((running + 1))
  done
  if [ -n "$answer" ] && [ "$running" -le "$allowed" ]; then
    echo "$answer" >&"$DUCTILE_RESIZE_FD"
    answer=
  fi
  read -r word size <&9
  case $word in
    size) allowed=$size answer=$size ;;
    *) sum=$((sum + word)) running=$((running - 1)) ;;
  esac
done
[ -z "$listener" ] || kill "$listener"
echo "the sum of the squares of 1 to $numbers is $sum"
