//! The words of names. An adjective has at most 8 letters and a surname at most 9: then the longest prefix and the
//! longest words still make a legal name.

pub(super) const ADJECTIVES: &str = "
    able agile amber amused ample azure bold brave breezy bright brisk calm candid careful cheerful civil
    clever cosy crisp curious dapper daring deft diligent eager earnest elegant fair famous fearless festive
    fluent fond frank friendly gallant generous gentle glad gleeful golden graceful grand happy hardy hearty
    helpful honest humble jolly jovial keen kind lively loyal lucid lucky mellow merry mighty mindful modest
    neat nimble noble patient peaceful plucky polite prompt proud quick quiet radiant rapid ready robust
    rosy serene sharp shiny silent silver sincere smooth snug sober solid spry stable steady sturdy subtle
    sunny swift tactful tender thrifty tidy tireless trusty upbeat valiant vivid warm watchful wise witty
    zealous zesty
";

pub(super) const SURNAMES: &str = "
    abel ampere apgar babbage bell bernoulli bohr boole born bose boyle brahe cantor carnot carson cauchy
    cerf chandra church conway cori coulomb crick curie dalton darwin descartes dijkstra dirac edison
    einstein engelbart erdos euclid euler faraday fermat fermi feynman fourier franklin galileo galois gauss
    germain godel goodall hamilton hamming hawking hertz hilbert hooke hopper hubble huygens hypatia jacobi
    jemison joule kepler khorana knuth kowalski lagrange lamarr laplace lamport leavitt leibniz liskov
    lorentz lovelace maxwell mayer meitner mendel mirzakhan morse napier nash neumann newton nobel noether
    ohm pascal pasteur pauli payne perlman planck poincare ramanujan ride riemann ritchie rubin sagan salk
    shannon snow stallman swartz tesla thompson torvalds turing volta watt wiles wing wozniak wright wu
    yalow yonath zuse
";
