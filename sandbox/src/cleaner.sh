# The sandbox's cleaner: outlives the sandbox by a moment, whatever ended it, and clears up.
#
# Standard input is a pipe whose other end only the sandbox holds; it ends when the sandbox closes
# it or dies. $SANDBOX is the folder. Every server of the sandbox names its data folder on its
# command line, as --datadir=$SANDBOX/…, and nothing else does: the searches below get the path
# from the environment and from a pipe.
trap '' INT TERM HUP

# Prints the ids of the sandbox's servers and of the programs that initialise their data.
servers() {
    if [ -r "/proc/$$/cmdline" ]; then
        printf '%s' "--datadir=$SANDBOX/" | grep -lF -f - /proc/[0-9]*/cmdline | cut -d / -f 3
    else
        ps -axww -o pid=,args= | awk 'index($0, "--datadir=" ENVIRON["SANDBOX"] "/") { print $1 }'
    fi 2>/dev/null
}

# Nothing comes through the pipe: this returns when the sandbox is over.
read -r _

# The data goes with the servers, so they need not write it out first.
while pids=$(servers) && [ -n "$pids" ]; do
    kill -KILL $pids 2>/dev/null
    sleep 0.05
done
rm -rf "$SANDBOX"
