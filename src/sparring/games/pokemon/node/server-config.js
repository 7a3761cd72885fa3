// The config of a local Showdown server: this machine only, one process, nothing sent or asked anywhere.
'use strict';
const { parent, ...asked } = JSON.parse(process.env.SPARRING_SHOWDOWN || '{}');

// A server does not outlive whoever started it, however that one ended.
if (parent) {
  setInterval(() => {
    try {
      process.kill(parent, 0);
    } catch {
      process.exit(0);
    }
  }, 2000).unref();
}

module.exports = {
  ...require('./config-example'),
  bindaddress: '127.0.0.1',
  subprocesses: 0,
  loginserver: 'http://127.0.0.1:9/',
  backdoor: false,
  repl: false,
  watchconfig: false,
  autolockdown: false,
  reportbattles: false,
  reportjoins: false,
  logchallenges: false,
  loguserstats: 0,
  crashguard: true,
  noguestsecurity: true,
  nothrottle: true,
  noipchecks: true,
  ...asked,
};
