#!/bin/sh
# An agent program of another name: the scripted agent, told its role as claude's adapter does not.
case " $* " in
  *' --append-system-prompt-file '*) RELAIS_ROLE=builder ;;
  *) RELAIS_ROLE=orchestrator ;;
esac
export RELAIS_ROLE
exec node "$(dirname "$0")/../../dist/scripted-agent.js" "$@"
