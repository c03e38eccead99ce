# Part of Windlass. See COPYRIGHT in the top-level directory.
# Read by the scripts here: a directory of their own, and programs of 2 processes under valgrind.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
if ! command -v valgrind > /dev/null; then
    echo 'there is no valgrind, which ./maint/quickstart installs'
    exit 1
fi

# clean NAME PROGRAM ARGUMENT...: nothing in valgrind's logs but its warnings.
clean()
{
    name=$1
    shift
    timeout 300 "$MPIEXEC" -n 2 valgrind -q --child-silent-after-fork=yes --leak-check=full \
        --errors-for-leak-kinds=definite --show-leak-kinds=definite \
        --suppressions="$WDL_TOP/test/memory/others.supp" \
        --log-file="$dir/$name.%p" "$@" > "$dir/out" 2>&1
    status=$?
    [ $status -eq 0 ] || { echo "$name: status $status: $(cat "$dir/out")"; failures=$((failures + 1)); }
    if grep -hE '^==[0-9]+==' "$dir/$name".* | grep -qv WARNING; then
        echo "$name:"
        grep -hE '^==[0-9]+==' "$dir/$name".* | grep -v WARNING | head -n 40
        failures=$((failures + 1))
    fi
}
