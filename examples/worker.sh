#!/usr/bin/env bash
# A worker of the seven exchanges in plain bash: it copies, compares and counts nothing, but it keeps every must.
# One line of JSON in, one line out. A job lives in jobs/ID/: `state` is where it stands, `pid` who does it.
#
#     lifecycle conform examples/worker.sh

set -u
mkdir -p jobs

field() { # field NAME LINE: the text of a field, as it stands in JSON
    [[ $2 =~ \"$1\":\"(([^\"\\]|\\.)*)\" ]] && printf '%s' "${BASH_REMATCH[1]}"
}

say() { printf '{"worker":"worker/0.2","nonce":"%s","answer":%s}\n' "$nonce" "$1"; }
refuse() { printf '{"worker":"worker/0.2","nonce":"%s","refused":"%s"}\n' "$nonce" "$1"; }

state() { # where a job stands
    [[ -e jobs/$1/state ]] || { echo never_accepted; return; }
    cat "jobs/$1/state"
}

becomes() { echo "$2" >"jobs/$1/state.new" && mv "jobs/$1/state.new" "jobs/$1/state"; }

busy() { # the job at hand, if there is one
    local each
    for each in jobs/*/state; do
        [[ -e $each ]] || continue
        each=${each#jobs/}; each=${each%/state}
        case $(state "$each") in working | blocked) echo "$each"; return ;; esac
    done
}

work() { # work JOB GOAL DEADLINE: the job itself, in a process of its own
    local steps=1
    case $2 in
        *poison) echo "this input makes it fail" >"jobs/$1/why"; becomes "$1" failed; return ;;
        *missing) becomes "$1" blocked; while :; do sleep 0.2; done ;;
        *slow) steps=600 ;;
    esac
    for ((i = 0; i < steps; i++)); do
        if [[ -n $3 ]] && (($(date +%s%N) / 1000000 >= $3)); then
            echo "it was to be complete by now" >"jobs/$1/why"; becomes "$1" failed; return
        fi
        echo "$1" >>"$LIFECYCLE_LEDGER"
        ((steps > 1)) && sleep 0.08
    done
    becomes "$1" done
}

estimate() { # what a goal would take
    case $1 in
        *plain) echo '{"can":"can","commitment":true,"seconds":10}' ;;
        *slow | *poison | *missing) echo '{"can":"can","commitment":false}' ;;
        *vague) echo '{"can":"cannot_tell","missing":"how much of it there is"}' ;;
        *) echo '{"can":"cannot","why":"this is not what it does"}' ;;
    esac
}

take() { # take JOB GOAL LINE
    local at told due found="" rest=$3
    at=$(busy)
    told=$(estimate "$2")
    if [[ -e jobs/$1/state ]]; then
        say '{"act":{"act":"accept"}}'
    elif [[ -n $at ]]; then
        say '{"act":{"act":"decline","kind":"over_capacity","reason":"it is at work on '"$at"'"}}'
    elif [[ $told == *cannot_tell* ]]; then
        say '{"act":{"act":"decline","kind":"insufficient_spec","reason":"it is not said how much of it there is"}}'
    elif [[ $told == *cannot* ]]; then
        say '{"act":{"act":"decline","kind":"out_of_scope","reason":"this is not what it does"}}'
    else
        mkdir -p "jobs/$1"
        due=$(field complete_by "$3")
        [[ -n $due ]] && due=$(($(date -d "$due" +%s%N) / 1000000))
        while [[ $rest =~ \"id\":\"([^\"]+)\",\"text\"(.*) ]]; do # each condition that was asked for
            found+=${found:+,}'{"id":"'${BASH_REMATCH[1]}'","status":"met","evidence":"ledger"}'
            rest=${BASH_REMATCH[2]}
        done
        printf '%s' "$found" >"jobs/$1/findings"
        becomes "$1" working
        work "$1" "$2" "$due" </dev/null >/dev/null 2>&1 &
        echo $! >"jobs/$1/pid"
        sync "jobs/$1"
        say '{"act":{"act":"accept"}}'
    fi
}

stop() { # stop JOB: the same answer however often
    case $(state "$1") in
        never_accepted) say '{"work":"untouched"}'; return ;;
        done) say '{"work":"complete"}'; return ;;
        working | blocked)
            pkill -P "$(<"jobs/$1/pid")" 2>/dev/null
            kill "$(<"jobs/$1/pid")" 2>/dev/null
            wait "$(<"jobs/$1/pid")" 2>/dev/null
            [[ $(<"jobs/$1/state") == done ]] || { echo "it was stopped" >"jobs/$1/why"; becomes "$1" stopped; } ;;
    esac
    say '{"work":"partial"}'
}

result() { # result JOB
    case $(state "$1") in
        never_accepted) say '{"came":"never_accepted"}' ;;
        working | blocked) say '{"came":"not_yet"}' ;;
        done) say '{"came":"done","deliver":{"act":"deliver","artifacts":[{"name":"ledger"}],"report":{"conditions":['"$(<"jobs/$1/findings")"']}}}' ;;
        *) say '{"came":"failed","fail":{"act":"fail","words":"'"$(<"jobs/$1/why")"'","work":"partial"}}' ;;
    esac
}

for each in jobs/*/state; do # accepted by an earlier run of this program, and not ended: failed, not forgotten
    [[ -e $each && $(<"$each") =~ ^(working|blocked)$ ]] || continue
    each=${each#jobs/}; each=${each%/state}
    kill "$(<"jobs/$each/pid")" 2>/dev/null
    echo "its process ended in the middle of the work" >"jobs/$each/why"
    becomes "$each" failed
done

while IFS= read -r line; do
    nonce=$(field nonce "$line"); ask=$(field ask "$line"); job=$(field job "$line"); goal=$(field goal "$line")
    if [[ $line != *'"worker":"worker/0.2"'* ]]; then
        refuse "worker/0.2 is spoken here, and no other version"
        continue
    fi
    if [[ -n $job && ! $job =~ ^[A-Za-z0-9_-]{1,128}$ ]]; then
        refuse "this is no id of a job"
        continue
    fi
    case $ask in
        free) [[ -z $(busy) ]] && say '{"free":true}' || say '{"free":false}' ;;
        estimate) say "$(estimate "$goal")" ;;
        take) take "$job" "$goal" "$line" ;;
        status) say '{"status":"'"$(state "$job")"'","line":"'"$(cat "jobs/$job/why" 2>/dev/null)"'"}' ;;
        result) result "$job" ;;
        needs)
            if [[ $(state "$job") == blocked ]]; then
                say '{"need":{"what":"the file that is to be read","whom":"requester"}}'
            else
                say '{"need":null}'
            fi ;;
        stop) stop "$job" ;;
        *) refuse "there is no such exchange; there are free, estimate, take, status, result, needs, stop" ;;
    esac
done
