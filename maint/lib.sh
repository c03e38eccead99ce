# Part of Windlass. See COPYRIGHT in the top-level directory.
#
# What the scripts of maint/ share; sourced, not run. The sourcing script sets `me` (its name, for
# messages) and `top` (the directory above maint/).

mpich_version=4.0.2

die()
{
    echo "$me: $*" >&2
    exit 1
}

# The comment at the top of the script, from its "NAME ..." line to the first line of code.
usage()
{
    sed -n "/^# $me/,/^[^#]/s/^# \{0,1\}//p" "$top/maint/$me"
}

# mpich_version_of DIR: the version of the MPICH source in DIR; nothing if it is none.
mpich_version_of()
{
    sed -n 's/^m4_define(\[MPICH_VERSION_m4\],\[\(.*\)\]).*/\1/p' "$1/maint/version.m4" 2> /dev/null || :
}

# mpich_check DIR NAME: refuse what is not the one MPICH there is a device for.
mpich_check()
{
    version=$(mpich_version_of "$1")
    [ -n "$version" ] || die "$2 is not the source of MPICH (it has no maint/version.m4)"
    [ "$version" = "$mpich_version" ] ||
        die "$2 is MPICH $version; windlass is made for MPICH $mpich_version and no other"
}

# no_blanks DIR...: refuse to build there.
no_blanks()
{
    for place in "$@"; do
        case $place in
            *[[:space:]]*) die "autotools cannot build in a directory with a blank in its name: $place" ;;
        esac
    done
}

# seconds_text N: N seconds as m:ss.
seconds_text()
{
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# missing_packages NAMES: those of these Debian packages that are not installed.
missing_packages()
{
    for package in $1; do
        case $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null || :) in
            'install ok installed') ;;
            *) printf '%s ' "$package" ;;
        esac
    done
}

# The user who may install: prints the command to put before apt-get; fails if there is none.
privilege()
{
    if [ "$(id -u)" -eq 0 ]; then
        echo env
    elif command -v sudo > /dev/null && { sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; }; }; then
        echo 'sudo env'
    else
        return 1
    fi
}

# install_packages PRIVILEGE NAMES
install_packages()
{
    # shellcheck disable=SC2086
    $1 apt-get -q update &&
        $1 DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $2
}
