// One name in two versions, the second of which is the default.
extern "C" {
__attribute__((used)) int answer_old() { return 1; }
__attribute__((used)) int answer_new() { return 2; }
}
__asm__(".symver answer_old, answer@OLD_1");
__asm__(".symver answer_new, answer@@NEW_2");
